#include "frontend/overrides/hydra_grammar.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/overrides/convert.h"

namespace shardlint {
namespace {

constexpr int most_nested = 60;

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool blank(char c) {
  return c == ' ' || c == '\t';
}

// Characters that may stand in a word without quotes besides letters and digits.
bool unquoted(char c) {
  return std::string_view("/-\\+.$%*@?|").find(c) != std::string_view::npos;
}
// Characters that a backslash makes plain.
bool escapable(char c) {
  return std::string_view("\\()[]{}:=, \t").find(c) != std::string_view::npos;
}

// INT and FLOAT of Hydra's lexer: no leading zeros, underscores between digits only.
bool digits_with_underscores(std::string_view text) {
  if (text.empty() || !digit(text.front()) || !digit(text.back())) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!digit(text[i]) && !(text[i] == '_' && text[i - 1] != '_')) {
      return false;
    }
  }
  return true;
}
bool whole_number(std::string_view text) {
  return text == "0" || (digits_with_underscores(text) && text.front() != '0');
}

bool float_word(std::string_view text) {
  std::string word = lower(text);
  if (word == "inf" || word == "nan") {
    return true;
  }
  std::string_view mantissa = text;
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    mantissa = text.substr(0, e);
    std::string_view exponent = text.substr(e + 1);
    if (!exponent.empty() && (exponent[0] == '+' || exponent[0] == '-')) {
      exponent.remove_prefix(1);
    }
    if (!digits_with_underscores(exponent)) {
      return false;
    }
  }
  const std::size_t dot = mantissa.find('.');
  if (dot == std::string_view::npos) {
    return e != std::string_view::npos && whole_number(mantissa);
  }
  const std::string_view whole = mantissa.substr(0, dot), fraction = mantissa.substr(dot + 1);
  if (whole.empty()) {
    return digits_with_underscores(fraction);
  }
  return whole_number(whole) && (fraction.empty() || digits_with_underscores(fraction));
}

// An unquoted word that is one token has that token's type; anything longer is text.
Value typed(const std::string& text, bool escaped) {
  if (escaped) {
    return text;
  }
  const std::string word = lower(text);
  if (word == "null") {
    return {};
  }
  if (word == "true" || word == "false") {
    return word == "true";
  }
  std::string_view bare = text;
  if (!bare.empty() && (bare[0] == '+' || bare[0] == '-')) {
    bare.remove_prefix(1);
  }
  if (whole_number(bare)) {
    return python_integer(text).value_or(Value(text));
  }
  if (float_word(bare)) {
    return python_real(text).value_or(Value(text));
  }
  return text;
}

bool known_function(std::string_view name) {
  static constexpr std::string_view names[] = {
      "int",  "float",    "str",  "bool",    "json_str", "choice",     "range",
      "glob", "interval", "sort", "shuffle", "tag",      "extend_list"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

class Reader {
 public:
  Reader(const Word& word) : word_(word), text_(word.text()) {}

  OverrideValue read() {
    skip();
    if (at_ == text_.size()) {
      out_.value = "";
      return out_;
    }
    out_.value = element(0, "");  // blanks may end a word, but nothing else
    if (out_.error.empty() && peek() == ',') {
      out_.sweep = true;  // a,b,c
      out_.value = unknown(Reason::dynamic, word_.shown(), word_.span());
      while (out_.error.empty() && peek() == ',') {
        ++at_;
        skip();
        element(0, "");
      }
    }
    if (out_.error.empty() && at_ < text_.size()) {
      fail(fmt::format("`{}` cannot stand here", text_[at_]));
    }
    return out_;
  }

 private:
  // `stop`: characters that end an unquoted word here.
  Value element(int depth, std::string_view stop) {
    skip();
    if (depth > most_nested) {
      return fail("nested too deeply");
    }
    const char c = peek();
    if (c == '\'' || c == '"') {
      return quoted();
    }
    if (c == '[') {
      return list(depth);
    }
    if (c == '{') {
      return map(depth);
    }
    return unquoted_word(depth, stop);
  }

  Value quoted() {
    const std::size_t begin = at_;
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') {
        // Backslashes before a quote (or the end) are halved; others stay.
        std::size_t run = 0;
        while (at_ < text_.size() && text_[at_] == '\\') {
          ++run;
          ++at_;
        }
        if (at_ < text_.size() && text_[at_] == quote) {
          value.append(run / 2, '\\');
          if (run % 2) {
            value += quote;
            ++at_;
          }
        } else {
          value.append(run, '\\');
        }
        continue;
      }
      value += text_[at_++];
    }
    if (at_ == text_.size()) {
      at_ = begin;
      return fail("a quote is not closed");
    }
    ++at_;
    if (value.find(Word::unknown_mark) != std::string::npos) {
      return word_.slice(begin + 1, at_ - 1).value();
    }
    return value;
  }

  Value list(int depth) {
    const std::size_t begin = at_++;
    List items;
    skip();
    if (peek() == ']') {
      ++at_;
      return items;
    }
    while (out_.error.empty()) {
      items.push_back(element(depth + 1, ",]"));
      skip();
      if (peek() == ']') {
        ++at_;
        return items;
      }
      if (peek() != ',') {
        return closing(begin, "bracket");
      }
      ++at_;
    }
    return {};
  }

  Value map(int depth) {
    const std::size_t begin = at_++;
    Map entries;
    skip();
    if (peek() == '}') {
      ++at_;
      return entries;
    }
    while (out_.error.empty()) {
      skip();
      const Value key = unquoted_word(depth, ":");
      if (!out_.error.empty()) {
        return {};
      }
      skip();
      if (peek() != ':') {
        return fail("a colon is missing after the key");
      }
      ++at_;
      entries.emplace_back(key.text(), element(depth + 1, ",}"));
      skip();
      if (peek() == '}') {
        ++at_;
        return entries;
      }
      if (peek() != ',') {
        return closing(begin, "brace");
      }
      ++at_;
    }
    return {};
  }

  Value closing(std::size_t begin, const char* what) {
    if (out_.error.empty() && at_ >= text_.size()) {
      at_ = begin;
      return fail(fmt::format("a {} is not closed", what));
    }
    return fail("a comma is missing");
  }

  // ID, numbers, interpolations, blanks inside; functions such as range(1,3).
  Value unquoted_word(int depth, std::string_view stop) {
    const std::size_t begin = at_;
    std::string value;
    bool escaped = false, interpolated = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.compare(at_, 2, "${") == 0) {
        const std::size_t end = interpolation_end();
        if (end == std::string::npos) {
          return fail("an interpolation is not closed");
        }
        value += text_.substr(at_, end - at_);
        at_ = end;
        interpolated = true;
        continue;
      }
      if (c == '\\' && at_ + 1 < text_.size() && escapable(text_[at_ + 1])) {
        value += text_[at_ + 1];
        at_ += 2;
        escaped = true;
        continue;
      }
      if (c == '(' && !value.empty() &&
          std::all_of(value.begin(), value.end(), [](char x) { return letter(x) || digit(x); })) {
        return function(begin, depth);
      }
      const bool part = letter(c) || digit(c) || unquoted(c) || blank(c) ||
                        c == Word::unknown_mark ||
                        (c == ':' && stop.find(':') == std::string_view::npos);
      if (!part) {
        break;
      }
      value += c;
      ++at_;
    }
    while (!value.empty() && blank(value.back()) && !escaped) {
      value.pop_back();
    }
    if (at_ == begin) {
      return fail(at_ < text_.size() ? fmt::format("`{}` cannot stand here", text_[at_])
                                     : std::string("a value is missing"));
    }
    const std::size_t end = begin + value.size();
    if (value.find(Word::unknown_mark) != std::string::npos) {
      return word_.slice(begin, escaped ? at_ : end).value();
    }
    return interpolated ? Value(value) : typed(value, escaped);
  }

  // Past its arguments; what it gives is not worked out. choice(), range() and the like sweep.
  Value function(std::size_t begin, int depth) {
    const std::string name = text_.substr(begin, at_ - begin);
    if (!known_function(name)) {
      return fail(fmt::format("`{}` is no function; quote the text if it is none", name));
    }
    const std::size_t open = at_++;
    skip();
    while (out_.error.empty() && peek() != ')') {
      const std::size_t before = at_;
      while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) {
        ++at_;
      }
      if (peek() == '=') {
        ++at_;  // a named argument
      } else {
        at_ = before;
      }
      element(depth + 1, ",)");
      skip();
      if (peek() == ',') {
        ++at_;
        skip();
      } else if (peek() != ')') {
        at_ = open;
        return fail("a parenthesis is not closed");
      }
    }
    if (!out_.error.empty()) {
      return {};
    }
    ++at_;
    out_.sweep |=
        depth == 0 && (name == "choice" || name == "range" || name == "interval" ||
                       name == "glob" || name == "sort" || name == "shuffle" || name == "tag");
    return unknown(Reason::dynamic, text_.substr(begin, at_ - begin), word_.span());
  }

  std::size_t interpolation_end() const {
    int depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == '{') {
        ++depth;
      } else if (text_[i] == '}' && --depth == 0) {
        return i + 1;
      }
    }
    return std::string::npos;
  }

  Value fail(std::string why) {
    if (out_.error.empty()) {
      out_.error = std::move(why);
      out_.error_at = std::min(at_, text_.size());
    }
    return {};
  }
  void skip() {
    while (at_ < text_.size() && blank(text_[at_])) {
      ++at_;
    }
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  const Word& word_;
  std::string text_;
  std::size_t at_ = 0;
  OverrideValue out_;
};

// Where a key stops being one, or npos. Names joined by slashes are a group, by dots a path; a path
// may go through list items.
std::size_t bad_key_at(std::string_view key) {
  const auto name_end = [&](std::size_t from) {
    std::size_t i = from;
    while (i < key.size() && (letter(key[i]) || digit(key[i]) || key[i] == '-' || key[i] == '$')) {
      ++i;
    }
    return i;
  };
  const bool dotted = key.find('.') != std::string_view::npos;
  for (std::size_t at = 0;;) {
    const std::size_t end = name_end(at);
    if (end == at) {
      return at;
    }
    if (!letter(key[at]) && key[at] != '$' && !(dotted && whole_number(key.substr(at, end - at)))) {
      return at;
    }
    if (end == key.size()) {
      return std::string_view::npos;
    }
    if (key[end] != (dotted ? '.' : '/')) {
      return end;
    }
    at = end + 1;
  }
}

}  // namespace

OverrideValue parse_override_value(const Word& word) {
  return Reader(word).read();
}

Override parse_override(const Word& word) {
  Override out;
  const std::string text = word.text();
  std::size_t at = 0;
  if (text.starts_with("++")) {
    out.kind = Override::Kind::force_add, at = 2;
  } else if (text.starts_with("+")) {
    out.kind = Override::Kind::add, at = 1;
  } else if (text.starts_with("~")) {
    out.kind = Override::Kind::remove, at = 1;
  }
  const std::size_t equals = text.find('=');
  const std::size_t key_end = std::min(equals, text.size());
  if (text.substr(0, key_end).find(Word::unknown_mark) != std::string::npos) {
    return out;  // any key
  }
  std::string_view key = std::string_view(text).substr(at, key_end - at);
  const std::size_t package = key.find('@');
  out.key_word = word.slice(at, key_end);
  out.key = key.substr(0, package);
  if (package != std::string_view::npos) {
    out.package = key.substr(package + 1);
  }
  const auto fail = [&](std::string why, std::size_t where) {
    out.error = std::move(why);
    out.error_at = where;
    return out;
  };
  if (out.key.empty()) {
    return fail("the key is missing", at);
  }
  const std::size_t bad =
      std::min(bad_key_at(out.key), out.package.empty() ? std::string::npos
                                    : bad_key_at(out.package) == std::string::npos
                                        ? std::string::npos
                                        : package + 1 + bad_key_at(out.package));
  if (bad != std::string::npos) {
    return fail(bad < key.size() ? fmt::format("`{}` cannot stand here in a key", key[bad])
                                 : std::string("the key is cut short"),
                at + std::min(bad, key.size()));
  }
  if (equals == std::string::npos) {
    return out.kind == Override::Kind::remove ? out
                                              : fail("`=` and a value are missing", text.size());
  }
  out.has_value = true;
  out.value_word = word.slice(equals + 1);
  OverrideValue value = parse_override_value(out.value_word);
  out.value = std::move(value.value);
  out.sweep = value.sweep;
  if (!value.error.empty()) {
    return fail(value.error, equals + 1 + value.error_at);
  }
  return out;
}

std::string override_text(const Value& value) {
  if (const bool* flag = value.if_bool()) {
    return *flag ? "True" : "False";
  }
  if (const List* items = value.if_list()) {
    std::string out;
    for (const Value& item : *items) {
      out += (out.empty() ? "" : ",") + override_text(item);
    }
    return "[" + out + "]";
  }
  if (const Map* entries = value.if_map()) {
    std::string out;
    for (const auto& [key, item] : *entries) {
      out += (out.empty() ? "" : ",") + key + ":" + override_text(item);
    }
    return "{" + out + "}";
  }
  const std::string* text = value.if_string();
  if (!text) {
    return value.text();
  }
  const OverrideValue plain = parse_override_value(literal_word(*text));
  if (!text->empty() && plain.error.empty() && !plain.sweep && plain.value == value) {
    return *text;
  }
  std::string quoted;
  for (const char c : *text) {
    quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  }
  return '"' + quoted + '"';
}

}  // namespace shardlint
