// [ ], test and [[ ]]: three answers. What is not given counts as empty, what only a machine knows
// as unknown.

#include <algorithm>

#include <regex.h>

#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
// The text with everything left out that was not given.
Text Evaluator::assumed(const Text& text) const {
  Text out;
  out.env_default = text.env_default;
  for (const Char& c : text.chars) {
    if (c.has(Char::unknown)) {
      const CharNote& note = notes_.notes[c.note];
      if ((note.unknown->reason == Reason::environment ||
           note.unknown->reason == Reason::argument) &&
          !note.unknown->not_null && note.path.empty()) {
        out.env_default = true;
        continue;
      }
    }
    out.chars.push_back(c);
  }
  return out;
}

Truth Evaluator::unary(char op, const Text& given) {
  const Text operand = assumed(given);
  switch (op) {
    case 'z':
    case 'n': {
      const bool something =
          std::any_of(operand.chars.begin(), operand.chars.end(), [&](const Char& c) {
            return !c.has(Char::unknown | Char::conditional) ||
                   (c.has(Char::unknown) && notes_.notes[c.note].unknown->not_null);
          });
      if (something) {
        return truth(op == 'n');
      }
      return operand.empty() ? truth(op == 'z') : Truth::unknown;
    }
    case 'v': {
      if (!operand.known()) {
        return Truth::unknown;
      }
      const std::string name = operand.plain();
      const std::size_t bracket = name.find('[');
      if (bracket != std::string::npos) {
        const Variable* variable = state_.find(name.substr(0, bracket));
        if (!variable || variable->kind != Variable::Kind::map || name.back() != ']') {
          return Truth::unknown;
        }
        const std::string key = name.substr(bracket + 1, name.size() - bracket - 2);
        return truth(std::find(variable->keys.begin(), variable->keys.end(), key) !=
                     variable->keys.end());
      }
      return truth(lookup(name, {}).set);
    }
    case 'f':
    case 'd':
    case 'e':
    case 'r':
    case 's':
    case 'x': {
      if (operand.empty()) {
        return Truth::no;
      }
      bool reachable = false;
      const std::optional<std::string> path = resolve(operand, reachable);
      if (path &&
          (op == 'd'                             ? disk_.is_directory(*path)
           : op == 'e' || op == 'r' || op == 'x' ? disk_.is_file(*path) || disk_.is_directory(*path)
                                                 : disk_.is_file(*path))) {
        return op == 'x' ? Truth::unknown : Truth::yes;
      }
      return Truth::unknown;
    }
    default:
      return Truth::unknown;
  }
}

Truth Evaluator::binary(std::string_view op, const Text& left_given, const Text& right_given,
                        bool pattern) {
  const Text left = assumed(left_given), right = assumed(right_given);
  if (op == "=" || op == "==" || op == "!=") {
    Truth equal = Truth::unknown;
    if (pattern) {
      equal = matches(right, left);
    } else if (left.known() && right.known()) {
      equal = truth(left.plain() == right.plain());
    } else {
      // Texts differ as soon as what is known at the front or the end does.
      const auto certain = [](const Char& c) { return !c.has(Char::unknown | Char::conditional); };
      const std::size_t size = std::min(left.size(), right.size());
      for (std::size_t i = 0; i < size && certain(left.chars[i]) && certain(right.chars[i]); ++i) {
        if (left.chars[i].c != right.chars[i].c) {
          equal = Truth::no;
        }
      }
      if ((left.empty() || right.empty()) &&
          (std::any_of(left.chars.begin(), left.chars.end(), certain) ||
           std::any_of(right.chars.begin(), right.chars.end(), certain))) {
        equal = Truth::no;
      }
    }
    return op == "!=" ? negated(equal) : equal;
  }
  if (op == "=~") {
    const std::string expression = right.plain();
    if (!left.known() || !right.known() || expression.size() > 128 ||
        expression.find('{') != std::string::npos || left.size() > 1024) {
      return Truth::unknown;
    }
    regex_t compiled;
    if (regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
      return Truth::unknown;
    }
    const int result = regexec(&compiled, left.plain().c_str(), 0, nullptr, 0);
    regfree(&compiled);
    return truth(result == 0);
  }
  if (op == "<" || op == ">") {
    return left.known() && right.known()
               ? truth(op == "<" ? left.plain() < right.plain() : left.plain() > right.plain())
               : Truth::unknown;
  }
  static constexpr std::string_view comparisons[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
  const auto* found = std::find(std::begin(comparisons), std::end(comparisons), op);
  if (found == std::end(comparisons)) {
    return Truth::unknown;
  }
  const std::optional<std::int64_t> a = pattern ? arithmetic(left, nullptr, nullptr) : number(left);
  const std::optional<std::int64_t> b =
      pattern ? arithmetic(right, nullptr, nullptr) : number(right);
  if (!a || !b) {
    // [ "" -gt 0 ]: bash complains and goes on as if it did not hold.
    const bool empty = !pattern && ((left.known() && !a) || (right.known() && !b));
    return empty ? Truth::no : Truth::unknown;
  }
  switch (found - std::begin(comparisons)) {
    case 0:
      return truth(*a == *b);
    case 1:
      return truth(*a != *b);
    case 2:
      return truth(*a < *b);
    case 3:
      return truth(*a <= *b);
    case 4:
      return truth(*a > *b);
    default:
      return truth(*a >= *b);
  }
}

namespace {

bool is_unary(std::string_view text) {
  return text.size() == 2 && text[0] == '-' &&
         std::string_view("zndefrswxvhLpSbcguktGNO").find(text[1]) != std::string_view::npos;
}

bool is_binary(std::string_view text) {
  static constexpr std::string_view operators[] = {"=",   "==",  "!=",  "=~",  "<",
                                                   ">",   "-eq", "-ne", "-lt", "-le",
                                                   "-gt", "-ge", "-nt", "-ot", "-ef"};
  return std::find(std::begin(operators), std::end(operators), text) != std::end(operators);
}

Truth both(Truth a, Truth b) {
  return a == Truth::no || b == Truth::no     ? Truth::no
         : a == Truth::yes && b == Truth::yes ? Truth::yes
                                              : Truth::unknown;
}

Truth either(Truth a, Truth b) {
  return negated(both(negated(a), negated(b)));
}

}  // namespace

// The words of [ ... ] or test ..., without the closing bracket.
Truth Evaluator::test(const std::vector<Field>& words, std::size_t from) {
  const std::size_t count = words.size() - std::min(from, words.size());
  const auto text = [&](std::size_t i) { return words[from + i].text; };
  const auto plain = [&](std::size_t i) { return words[from + i].text.plain(); };
  for (std::size_t i = 0; i < count; ++i) {
    if (words[from + i].open || words[from + i].conditional) {
      const std::shared_ptr<const Unknown> why = notes_.first_unknown(words[from + i].text);
      if (!why || (why->reason != Reason::environment && why->reason != Reason::argument)) {
        return Truth::unknown;
      }
    }
  }
  if (count == 0) {
    return Truth::no;
  }
  // -o binds weaker than -a; both are old and rare.
  for (const std::string_view op : {"-o", "-a"}) {
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (plain(i) == op && count > 3) {
        const std::vector<Field> left(words.begin() + static_cast<std::ptrdiff_t>(from),
                                      words.begin() + static_cast<std::ptrdiff_t>(from + i));
        const Truth a = test(left, 0), b = test(words, from + i + 1);
        return op == "-o" ? either(a, b) : both(a, b);
      }
    }
  }
  if (plain(0) == "!" && count > 1) {
    return negated(test(words, from + 1));
  }
  if (count == 1) {
    return unary('n', text(0));
  }
  if (count == 2 && is_unary(plain(0))) {
    return unary(plain(0)[1], text(1));
  }
  if (count == 3 && is_binary(plain(1))) {
    return binary(plain(1), text(0), text(2), false);
  }
  return Truth::unknown;
}

// Reads [[ ... ]]: words are expanded as they are met, so that && and || do not look at what bash
// would not.
class DoubleBracket {
 public:
  DoubleBracket(Evaluator& shell, std::uint32_t begin, std::uint32_t end)
      : shell_(shell), text_(std::string_view(shell.script_->text).substr(0, end)), at_(begin) {}

  Truth run() {
    const Truth out = disjunction();
    skip();
    return at_ < text_.size() ? Truth::unknown : out;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (std::isspace(static_cast<unsigned char>(text_[at_])) ||
                                  text_.substr(at_, 2) == "\\\n")) {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
  }
  bool take(std::string_view op) {
    skip();
    if (text_.substr(at_, op.size()) != op) {
      return false;
    }
    at_ += static_cast<std::uint32_t>(op.size());
    return true;
  }
  Truth disjunction() {
    if (++depth_ > 40) {
      at_ = static_cast<std::uint32_t>(text_.size());
      return Truth::unknown;
    }
    Truth out = conjunction();
    while (take("||")) {
      out = either(out, conjunction());
    }
    --depth_;
    return out;
  }
  Truth conjunction() {
    Truth out = term();
    while (take("&&")) {
      out = both(out, term());
    }
    return out;
  }
  std::string_view word() {
    skip();
    begin_ = at_;
    const std::uint32_t end = end_of_word(text_, at_);
    at_ =
        end > at_ ? end : static_cast<std::uint32_t>(std::min<std::size_t>(at_ + 1, text_.size()));
    return text_.substr(begin_, at_ - begin_);
  }
  // After =~ blanks and parentheses may belong to the expression.
  std::string_view regular_expression() {
    skip();
    begin_ = at_;
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        at_ += 2;
        continue;
      }
      if (open == 0 && (std::isspace(static_cast<unsigned char>(c)) || c == ')')) {
        break;
      }
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
      ++at_;
    }
    at_ = static_cast<std::uint32_t>(std::min<std::size_t>(at_, text_.size()));
    return text_.substr(begin_, at_ - begin_);
  }
  Truth term() {
    if (take("(")) {
      const Truth out = disjunction();
      take(")");
      return out;
    }
    const std::string_view first = word();
    if (first == "!") {
      if (++depth_ > 40) {
        return Truth::unknown;
      }
      const Truth out = negated(term());
      --depth_;
      return out;
    }
    const std::uint32_t first_begin = begin_, first_end = at_;
    if (is_unary(first)) {
      const std::uint32_t before = at_;
      const std::string_view operand = word();
      if (!operand.empty() && operand != "]]" && !is_binary(operand)) {
        return shell_.unary(first[1], shell_.expand_whole(begin_, at_));
      }
      at_ = before;
    }
    const Text left = shell_.expand_whole(first_begin, first_end);
    const std::uint32_t before = at_;
    std::string_view op;
    skip();
    if (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>')) {
      op = text_.substr(at_++, 1);
    } else if (text_.substr(at_, 2) != "&&" && text_.substr(at_, 2) != "||") {
      op = word();
    }
    if (!is_binary(op)) {
      at_ = before;
      return shell_.unary('n', left);
    }
    if (op == "=~") {
      regular_expression();
    } else {
      word();
    }
    return shell_.binary(op, left, shell_.expand_whole(begin_, at_), true);
  }

  Evaluator& shell_;
  std::string_view text_;
  std::uint32_t at_, begin_ = 0;
  int depth_ = 0;
};

Truth Evaluator::double_bracket(const Token& token) {
  const bool assume = assume_;
  assume_ = true;
  const std::uint32_t end = token.end >= token.begin + 4 ? token.end - 2 : token.end;
  const Truth out = DoubleBracket(*this, token.begin + 2, end).run();
  assume_ = assume;
  return out;
}

}  // namespace shardlint::shell
