#include "frontend/shell/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace shardlint::shell {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool metacharacter(char c) {
  return blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' || c == '>' ||
         c == '(' || c == ')';
}

bool is_reserved(std::string_view word) {
  static constexpr std::array<std::string_view, 17> words = {
      "if",   "then", "else", "elif",   "fi",       "for", "while", "until", "do",
      "done", "case", "esac", "select", "function", "{",   "}",     "!"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

// After these a command may begin.
bool opens_command(std::string_view word) {
  static constexpr std::array<std::string_view, 9> words = {
      "if", "then", "else", "elif", "while", "until", "do", "{", "!"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Lexer {
 public:
  Lexer(std::string_view text, std::uint32_t from) : text_(text), at_(from) {}

  // Until the end of the text, or with `nested` until the parenthesis that closes what is around.
  std::uint32_t run(bool nested);
  Tokens take() { return std::move(out_); }

  std::uint32_t word_end(std::uint32_t i, bool array_allowed, bool* array);
  std::uint32_t double_quote_end(std::uint32_t i);
  std::uint32_t parameter_end(std::uint32_t i);
  std::uint32_t backtick_end(std::uint32_t i);
  std::uint32_t command_end(std::uint32_t i);

  int depth = 0;

 private:
  std::uint32_t size() const { return static_cast<std::uint32_t>(text_.size()); }
  char at(std::uint32_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  std::uint32_t dollar_end(std::uint32_t i);
  std::uint32_t single_quote_end(std::uint32_t i, bool ansi);
  std::uint32_t array_end(std::uint32_t i);
  std::uint32_t test_end(std::uint32_t i);
  void fault(std::uint32_t where, std::string what) {
    if (out_.faults.size() < 100) {
      out_.faults.push_back({where, std::move(what)});
    }
  }
  void push(Token::Kind kind, std::uint32_t begin, std::uint32_t end) {
    out_.tokens.push_back({kind, begin, end, 0, -1});
  }
  bool skip_blanks();
  bool redirect();
  void here_documents();
  bool control(bool nested);
  void word();
  void after_reserved(std::string_view word);

  std::string_view text_;
  std::uint32_t at_;
  Tokens out_;
  std::vector<int> pending_;  // here-documents whose bodies come after this line
  bool command_start_ = true;
  bool closed_ = false;
  bool function_name_ = false;  // the next word names a function
  int parentheses_ = 0;
  // Where we are in `for NAME in` and `case WORD in PATTERN)`.
  enum class Expect { nothing, loop_name, loop_in, case_word, case_in, pattern };
  Expect expect_ = Expect::nothing;
  std::vector<int> cases_;  // for every open case: parentheses at its start
};

std::uint32_t Lexer::single_quote_end(std::uint32_t i, bool ansi) {
  for (; i < size(); ++i) {
    if (ansi && text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '\'') {
      return i;
    }
  }
  fault(size(), "a single quote is not closed");
  return size();
}

std::uint32_t Lexer::double_quote_end(std::uint32_t i) {
  while (i < size()) {
    switch (text_[i]) {
      case '\\':
        i += 2;
        break;
      case '"':
        return i;
      case '`':
        i = backtick_end(i + 1) + 1;
        break;
      case '$':
        i = at(i + 1) == '\'' || at(i + 1) == '"' ? i + 1 : dollar_end(i);
        break;
      default:
        ++i;
    }
  }
  fault(size(), "a double quote is not closed");
  return size();
}

std::uint32_t Lexer::backtick_end(std::uint32_t i) {
  for (; i < size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '`') {
      return i;
    }
  }
  fault(size(), "a backtick is not closed");
  return size();
}

// From `$`: the end of the expansion that begins there.
std::uint32_t Lexer::dollar_end(std::uint32_t i) {
  const char next = at(i + 1);
  if (next == '(') {
    if (at(i + 2) == '(') {
      const std::size_t end = end_of_arithmetic(text_, i + 3);
      if (end != std::string_view::npos) {
        return static_cast<std::uint32_t>(end) + 2;
      }
    }
    return std::min(command_end(i + 2) + 1, size());
  }
  if (next == '{') {
    return std::min(parameter_end(i + 2) + 1, size());
  }
  if (next == '\'') {
    return std::min(single_quote_end(i + 2, true) + 1, size());
  }
  if (next == '"') {
    return std::min(double_quote_end(i + 2) + 1, size());
  }
  const std::size_t name = name_length(text_.substr(std::min(i + 1, size())));
  if (name > 0) {
    return i + 1 + static_cast<std::uint32_t>(name);
  }
  return i +
         (next != '\0' && std::string_view("@*#?-$!0123456789").find(next) != std::string_view::npos
              ? 2
              : 1);
}

std::uint32_t Lexer::parameter_end(std::uint32_t i) {
  if (++depth > max_nesting) {
    fault(i, "expansions are nested too deeply");
    --depth;
    return size();
  }
  std::uint32_t end = size();
  while (i < size()) {
    const char c = text_[i];
    if (c == '}') {
      end = i;
      break;
    }
    if (c == '\\') {
      i += 2;
    } else if (c == '\'') {
      // Inside double quotes a lone ' is literal: only skip what is closed before the brace.
      const std::size_t close = text_.find('\'', i + 1);
      const std::size_t brace = text_.find('}', i + 1);
      i = close != std::string_view::npos && close < brace ? static_cast<std::uint32_t>(close) + 1
                                                           : i + 1;
    } else if (c == '"') {
      i = double_quote_end(i + 1) + 1;
    } else if (c == '`') {
      i = backtick_end(i + 1) + 1;
    } else if (c == '$') {
      i = std::max(dollar_end(i), i + 1);
    } else {
      ++i;
    }
  }
  if (end == size()) {
    fault(size(), "${ is not closed");
  }
  --depth;
  return end;
}

std::uint32_t Lexer::command_end(std::uint32_t i) {
  if (depth >= max_nesting) {
    fault(i, "commands are nested too deeply");
    return size();
  }
  Lexer inner(text_, i);
  inner.depth = depth + 1;
  const std::uint32_t end = inner.run(true);
  for (Fault& each : inner.out_.faults) {
    fault(each.at, std::move(each.what));
  }
  if (end >= size()) {
    fault(size(), "$( is not closed");
  }
  return end;
}

// From after `(` of NAME=(: the offset of the closing parenthesis.
std::uint32_t Lexer::array_end(std::uint32_t i) {
  bool word_start = true;
  while (i < size()) {
    const char c = text_[i];
    if (c == ')') {
      return i;
    }
    if (c == '#' && word_start) {
      i = static_cast<std::uint32_t>(std::min(text_.find('\n', i), text_.size()));
      continue;
    }
    if (blank(c) || c == '\n') {
      word_start = true;
      ++i;
      continue;
    }
    word_start = false;
    const std::uint32_t end = word_end(i, false, nullptr);
    i = std::max(end, i + 1);
  }
  fault(size(), "the parenthesis of an array is not closed");
  return size();
}

// From after `[[`: the offset after `]]`.
std::uint32_t Lexer::test_end(std::uint32_t i) {
  while (i < size()) {
    if (text_.substr(i, 2) == "]]" && (i + 2 >= size() || metacharacter(at(i + 2)))) {
      return i + 2;
    }
    if (metacharacter(text_[i])) {
      ++i;
      continue;
    }
    const std::uint32_t end = word_end(i, false, nullptr);
    i = std::max(end, i + 1);
  }
  fault(size(), "[[ is not closed");
  return size();
}

std::uint32_t Lexer::word_end(std::uint32_t i, bool array_allowed, bool* array) {
  const std::uint32_t begin = i;
  while (i < size()) {
    const char c = text_[i];
    if (c == '\\') {
      i += 2;
    } else if (c == '\'') {
      i = single_quote_end(i + 1, false) + 1;
    } else if (c == '"') {
      i = double_quote_end(i + 1) + 1;
    } else if (c == '`') {
      i = backtick_end(i + 1) + 1;
    } else if (c == '$') {
      i = dollar_end(i);
    } else if ((c == '<' || c == '>') && at(i + 1) == '(') {
      i = command_end(i + 2) + 1;
    } else if (c == '(' && i > begin) {
      const char before = text_[i - 1];
      const std::string_view head = text_.substr(begin, i - begin);
      if (array_allowed && before == '=' && name_length(head) > 0) {
        *array = true;
        return std::min(array_end(i + 1) + 1, size());
      }
      if (std::string_view("?*+@!").find(before) == std::string_view::npos || i < begin + 1) {
        break;
      }
      i = command_end(i + 1) + 1;  // an extended pattern: @(a|b)
    } else if (metacharacter(c)) {
      break;
    } else {
      ++i;
    }
  }
  return std::min(i, size());
}

// Blanks, line continuations and comments. True when something was skipped.
bool Lexer::skip_blanks() {
  const std::uint32_t begin = at_;
  while (at_ < size()) {
    if (blank(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '\\' && at(at_ + 1) == '\n') {
      at_ += 2;
    } else if (text_[at_] == '#') {
      at_ = static_cast<std::uint32_t>(std::min(text_.find('\n', at_), text_.size()));
    } else {
      break;
    }
  }
  return at_ != begin;
}

bool Lexer::redirect() {
  std::uint32_t i = at_;
  while (std::isdigit(static_cast<unsigned char>(at(i)))) {
    ++i;
  }
  if (i == at_ && at(i) == '{') {  // {fd}>file
    const std::size_t name = name_length(text_.substr(i + 1));
    if (name > 0 && at(i + 1 + static_cast<std::uint32_t>(name)) == '}') {
      i += static_cast<std::uint32_t>(name) + 2;
    }
  }
  static constexpr std::array<std::string_view, 13> operators = {
      "<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">|", ">&", ">", ""};
  std::string_view op;
  for (const std::string_view candidate : operators) {
    if (text_.substr(i, candidate.size()) == candidate) {
      op = candidate;
      break;
    }
  }
  if (op.empty() || (op[0] == '&' && i != at_) ||
      ((op == "<" || op == ">") && at(i + 1) == '(' && i == at_)) {
    return false;
  }
  const std::uint32_t begin = at_;
  at_ = i + static_cast<std::uint32_t>(op.size());
  while (blank(at(at_)) || (at(at_) == '\\' && at(at_ + 1) == '\n')) {
    at_ += at(at_) == '\\' ? 2 : 1;
  }
  Token token{Token::Kind::redirect, begin, 0, at_, -1};
  token.end = word_end(at_, false, nullptr);
  if (op == "<<" || op == "<<-") {
    token.document = static_cast<int>(out_.documents.size());
    HereDocument document;
    document.strip_tabs = op == "<<-";
    out_.documents.push_back(document);
    pending_.push_back(static_cast<int>(out_.tokens.size()));
  }
  at_ = token.end;
  out_.tokens.push_back(token);
  return true;
}

// Called after a newline: the bodies of the here-documents of the line before.
void Lexer::here_documents() {
  for (const int index : pending_) {
    const Token& token = out_.tokens[static_cast<std::size_t>(index)];
    HereDocument& document = out_.documents[static_cast<std::size_t>(token.document)];
    std::string delimiter;
    for (std::uint32_t i = token.target; i < token.end; ++i) {
      const char c = text_[i];
      if (c == '\'' || c == '"' || c == '\\') {
        document.literal = true;
      } else {
        delimiter += c;
      }
    }
    document.begin = at_;
    bool found = false;
    while (at_ < size()) {
      const std::uint32_t line = at_;
      const std::uint32_t stop =
          static_cast<std::uint32_t>(std::min(text_.find('\n', at_), text_.size()));
      std::string_view content = text_.substr(line, stop - line);
      if (!content.empty() && content.back() == '\r') {
        content.remove_suffix(1);
      }
      while (document.strip_tabs && !content.empty() && content.front() == '\t') {
        content.remove_prefix(1);
      }
      at_ = std::min(stop + 1, size());
      if (content == delimiter) {
        document.end = line;
        found = true;
        break;
      }
    }
    if (!found) {
      document.end = size();
      fault(token.begin, "the here-document has no end line " + delimiter);
    }
  }
  pending_.clear();
}

bool Lexer::control(bool nested) {
  static constexpr std::array<std::string_view, 12> operators = {
      ";;&", ";;", ";&", ";", "&&", "&", "||", "|&", "|", "(", ")", "\n"};
  std::string_view op;
  for (const std::string_view candidate : operators) {
    if (text_.substr(at_, candidate.size()) == candidate) {
      op = candidate;
      break;
    }
  }
  if (op.empty()) {
    return false;
  }
  if (op == ")") {
    const bool pattern_end =
        !cases_.empty() && expect_ == Expect::pattern && parentheses_ == cases_.back();
    if (!pattern_end) {
      if (parentheses_ == 0 && nested) {
        closed_ = true;
        return true;
      }
      parentheses_ = std::max(0, parentheses_ - 1);
    }
    if (expect_ == Expect::pattern &&
        (pattern_end || (!cases_.empty() && parentheses_ == cases_.back()))) {
      expect_ = Expect::nothing;
      push(Token::Kind::control, at_, at_ + 1);
      ++at_;
      command_start_ = true;
      return true;
    }
  } else if (op == "(") {
    ++parentheses_;
  }
  push(Token::Kind::control, at_, at_ + static_cast<std::uint32_t>(op.size()));
  at_ += static_cast<std::uint32_t>(op.size());
  command_start_ = true;  // after ) too: NAME() {
  if (op.substr(0, 2) == ";;" || op == ";&") {
    expect_ = cases_.empty() ? Expect::nothing : Expect::pattern;
  } else if (op == ";" && (expect_ == Expect::loop_in)) {
    expect_ = Expect::nothing;
  }
  if (op == "\n") {
    here_documents();
  }
  return true;
}

void Lexer::after_reserved(std::string_view word) {
  command_start_ = opens_command(word);
  function_name_ = word == "function";
  if (word == "for" || word == "select") {
    expect_ = Expect::loop_name;
  } else if (word == "case") {
    expect_ = Expect::case_word;
  } else if (word == "esac") {
    if (!cases_.empty()) {
      cases_.pop_back();
    }
    expect_ = Expect::nothing;
  }
}

void Lexer::word() {
  const std::uint32_t begin = at_;
  bool array = false;
  const std::uint32_t end = std::max(word_end(at_, true, &array), at_ + 1);
  at_ = std::min(end, size());
  const std::string_view text = text_.substr(begin, at_ - begin);
  switch (expect_) {
    case Expect::loop_name:
      expect_ = Expect::loop_in;
      push(Token::Kind::word, begin, at_);
      command_start_ = false;
      return;
    case Expect::loop_in:
      expect_ = Expect::nothing;
      if (text == "in") {
        push(Token::Kind::reserved, begin, at_);
        command_start_ = false;
        return;
      }
      command_start_ = true;  // for NAME do
      break;
    case Expect::case_word:
      expect_ = Expect::case_in;
      push(Token::Kind::word, begin, at_);
      command_start_ = false;
      return;
    case Expect::case_in:
      push(text == "in" ? Token::Kind::reserved : Token::Kind::word, begin, at_);
      cases_.push_back(parentheses_);
      expect_ = Expect::pattern;
      command_start_ = false;
      return;
    case Expect::pattern:
      if (text != "esac") {
        push(Token::Kind::word, begin, at_);
        return;
      }
      push(Token::Kind::reserved, begin, at_);
      after_reserved(text);
      return;
    case Expect::nothing:
      break;
  }
  if (command_start_ && is_reserved(text)) {
    push(Token::Kind::reserved, begin, at_);
    after_reserved(text);
    return;
  }
  const std::size_t name = name_length(text);
  Token::Kind kind = Token::Kind::word;
  if (array) {
    kind = Token::Kind::array;
  } else if (command_start_ && name > 0) {
    std::size_t i = name;
    if (i < text.size() && text[i] == '[') {
      const std::size_t close = text.find(']', i);
      i = close == std::string_view::npos ? text.size() : close + 1;
    }
    if (i < text.size() && text[i] == '+') {
      ++i;
    }
    kind = i < text.size() && text[i] == '=' ? Token::Kind::assignment : Token::Kind::word;
  }
  push(kind, begin, at_);
  if (kind == Token::Kind::word) {
    command_start_ = function_name_;
    function_name_ = false;
  }
}

std::uint32_t Lexer::run(bool nested) {
  while (true) {
    skip_blanks();
    if (at_ >= size()) {
      break;
    }
    if (out_.tokens.size() >= max_tokens) {
      out_.complete = false;
      return size();
    }
    const bool starts = command_start_ && expect_ == Expect::nothing;
    if (text_.substr(at_, 2) == "((" && (starts || expect_ == Expect::loop_name)) {
      const std::size_t end = end_of_arithmetic(text_, at_ + 2);
      if (end != std::string_view::npos) {
        push(Token::Kind::arithmetic, at_, static_cast<std::uint32_t>(end) + 2);
        at_ = static_cast<std::uint32_t>(end) + 2;
        command_start_ = expect_ == Expect::loop_name;
        expect_ = Expect::nothing;
        continue;
      }
    }
    if (starts && text_.substr(at_, 2) == "[[" && at_ + 2 < size() && metacharacter(at(at_ + 2))) {
      const std::uint32_t begin = at_;
      at_ = test_end(at_ + 2);
      push(Token::Kind::test, begin, at_);
      command_start_ = false;
      continue;
    }
    if (expect_ != Expect::pattern && redirect()) {
      continue;
    }
    if (control(nested)) {
      if (closed_) {
        return at_;
      }
      continue;
    }
    word();
  }
  return size();
}

}  // namespace

std::size_t name_length(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) {
    ++i;
  }
  return i > 0 && std::isdigit(static_cast<unsigned char>(text[0])) ? 0 : i;
}

bool is_name(std::string_view text) {
  return !text.empty() && name_length(text) == text.size();
}

Tokens tokenize(std::string_view text) {
  Lexer lexer(text, 0);
  lexer.run(false);
  return lexer.take();
}

std::uint32_t end_of_command_substitution(std::string_view text, std::uint32_t from) {
  return Lexer(text, from).command_end(from);
}
std::uint32_t end_of_parameter(std::string_view text, std::uint32_t from) {
  return Lexer(text, from).parameter_end(from);
}
std::uint32_t end_of_backtick(std::string_view text, std::uint32_t from) {
  return Lexer(text, from).backtick_end(from);
}
std::uint32_t end_of_double_quote(std::string_view text, std::uint32_t from) {
  return Lexer(text, from).double_quote_end(from);
}
std::uint32_t end_of_word(std::string_view text, std::uint32_t from) {
  return Lexer(text, from).word_end(from, false, nullptr);
}

std::size_t end_of_arithmetic(std::string_view text, std::size_t from) {
  int open = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '(') {
      ++open;
    } else if (c == ')') {
      if (open == 0) {
        return i + 1 < text.size() && text[i + 1] == ')' ? i : std::string_view::npos;
      }
      --open;
    } else if (c == '"' || c == '\'') {
      const std::size_t close = text.find(c, i + 1);
      if (close == std::string_view::npos) {
        return std::string_view::npos;
      }
      i = close;
    }
  }
  return std::string_view::npos;
}

std::vector<Token> array_elements(std::string_view text, std::uint32_t begin, std::uint32_t end) {
  std::vector<Token> out;
  text = text.substr(0, end);
  std::uint32_t i = begin;
  while (i < end) {
    const char c = text[i];
    if (blank(c) || c == '\n') {
      ++i;
    } else if (c == '\\' && i + 1 < end && text[i + 1] == '\n') {
      i += 2;
    } else if (c == '#') {
      i = static_cast<std::uint32_t>(std::min<std::size_t>(text.find('\n', i), end));
    } else {
      const std::uint32_t stop = std::max(end_of_word(text, i), i + 1);
      out.push_back({Token::Kind::word, i, stop, 0, -1});
      i = stop;
    }
  }
  return out;
}

}  // namespace shardlint::shell
