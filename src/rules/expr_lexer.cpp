#include "rules/expr_lexer.h"

#include <cctype>

#include "base/strings.h"

namespace shardlint::rules {
namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

// Reads a quoted string from `at` (the quote); false when it does not end.
bool read_string(std::string_view source, std::size_t& at, std::string& out) {
  const char quote = source[at++];
  for (; at < source.size(); ++at) {
    if (source[at] == quote) {
      ++at;
      return true;
    }
    if (source[at] == '\\' && at + 1 < source.size()) {
      ++at;
      out += source[at] == 'n' ? '\n' : source[at] == 't' ? '\t' : source[at];
    } else {
      out += source[at];
    }
  }
  return false;
}

std::size_t number_end(std::string_view source, std::size_t at, bool& real) {
  while (at < source.size() && (is_digit(source[at]) || source[at] == '_')) {
    ++at;
  }
  if (at + 1 < source.size() && source[at] == '.' && is_digit(source[at + 1])) {
    real = true;
    for (++at; at < source.size() && is_digit(source[at]); ++at) {
    }
  }
  if (at < source.size() && (source[at] == 'e' || source[at] == 'E')) {
    std::size_t next = at + 1;
    next += next < source.size() && (source[next] == '+' || source[next] == '-');
    if (next < source.size() && is_digit(source[next])) {
      real = true;
      for (at = next; at < source.size() && is_digit(source[at]); ++at) {
      }
    }
  }
  return at;
}

}  // namespace

std::vector<Token> lex(std::string_view source, std::vector<ExprError>& errors) {
  constexpr std::string_view signs[] = {"==", "!=", "<=", ">=", "//", "<", ">", "+",
                                        "-",  "*",  "/",  "%",  "(",  ")", "[", "]",
                                        "{",  "}",  ",",  ":",  ".",  "|", "&"};
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < source.size();) {
    if (std::isspace(static_cast<unsigned char>(source[at]))) {
      ++at;
      continue;
    }
    Token token;
    token.offset = at;
    if (starts_name(source[at])) {
      token.kind = TokenKind::name;
      while (at < source.size() && in_name(source[at])) {
        ++at;
      }
    } else if (is_digit(source[at])) {
      bool real = false;
      const std::size_t end = number_end(source, at, real);
      const std::string digits = replace_all(std::string(source.substr(at, end - at)), "_", "");
      at = end;
      token.kind = real ? TokenKind::real : TokenKind::integer;
      const auto integer = to_integer(digits);
      const auto value = to_double(digits);
      if ((!real && !integer) || !value || (at < source.size() && in_name(source[at]))) {
        errors.push_back({token.offset, "this is not a number"});
        break;
      }
      token.integer = integer.value_or(0);
      token.real = *value;
    } else if (source[at] == '"' || source[at] == '\'') {
      token.kind = TokenKind::string;
      if (!read_string(source, at, token.string)) {
        errors.push_back({token.offset, "this string does not end"});
        break;
      }
    } else {
      token.kind = TokenKind::sign;
      for (const auto sign : signs) {
        if (source.substr(at).starts_with(sign)) {
          at += sign.size();
          break;
        }
      }
      if (at == token.offset) {
        errors.push_back({at, "a character that has no meaning here"});
        break;
      }
    }
    token.text = source.substr(token.offset, at - token.offset);
    tokens.push_back(std::move(token));
  }
  Token end;
  end.offset = source.size();
  tokens.push_back(end);
  return tokens;
}

}  // namespace shardlint::rules
