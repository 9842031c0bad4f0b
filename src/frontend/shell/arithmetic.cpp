// $((...)), ((...)), array subscripts, -eq and friends: 64-bit integers as bash has them.

#include <cctype>
#include <limits>

#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {

// A recursive-descent reader of one expression. `failed_`: something in it is not known, or it is
// no expression.
class Arithmetic {
 public:
  Arithmetic(Evaluator& shell, std::string text, int depth)
      : shell_(shell), text_(std::move(text)), depth_(depth) {}

  std::optional<std::int64_t> run() {
    skip();
    if (at_ >= text_.size()) {
      return 0;
    }
    const std::int64_t value = comma();
    skip();
    return failed_ || at_ < text_.size() ? std::nullopt : std::optional<std::int64_t>(value);
  }

  bool env_default = false;
  std::shared_ptr<const Unknown> why;

 private:
  using Int = std::int64_t;
  static Int wrap(std::uint64_t v) { return static_cast<Int>(v); }
  static std::uint64_t u(Int v) { return static_cast<std::uint64_t>(v); }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    }
  }
  bool take(std::string_view op) {
    skip();
    if (std::string_view(text_).substr(at_, op.size()) != op) {
      return false;
    }
    at_ += op.size();
    return true;
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  Int fail() {
    failed_ = true;
    at_ = text_.size();
    return 0;
  }

  Int comma() {
    Int value = ternary();
    while (!failed_ && take(",")) {
      value = ternary();
    }
    return value;
  }

  Int ternary() {
    if (++nested_ > 60) {
      return fail();
    }
    Int value = binary(0);
    if (!failed_ && take("?")) {
      const bool outer = skipping_;
      skipping_ = outer || value == 0;
      const Int yes = ternary();
      skipping_ = outer;
      if (!take(":")) {
        return fail();
      }
      skipping_ = outer || value != 0;
      const Int no = ternary();
      skipping_ = outer;
      value = value != 0 ? yes : no;
    }
    --nested_;
    return value;
  }

  struct Operator {
    std::string_view text;
    int level;
  };
  // Longer spellings first.
  const Operator* operator_here(int level) {
    static constexpr Operator table[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6},  {"<=", 7},
                                         {">=", 7}, {"<<", 8}, {">>", 8}, {"**", 11}, {"|", 3},
                                         {"^", 4},  {"&", 5},  {"<", 7},  {">", 7},   {"+", 9},
                                         {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
    skip();
    for (const Operator& op : table) {
      if (std::string_view(text_).substr(at_, op.text.size()) == op.text) {
        const bool assigns =
            peek(op.text.size()) == '=' && op.level >= 3 && op.level != 6 && op.level != 7;
        return op.level > level && !assigns ? &op : nullptr;
      }
    }
    return nullptr;
  }

  Int binary(int level) {
    if (++nested_ > 60) {
      return fail();
    }
    Int left = unary();
    while (!failed_) {
      const Operator* op = operator_here(level);
      if (!op) {
        break;
      }
      at_ += op->text.size();
      const bool outer = skipping_;
      skipping_ = outer || (op->text == "&&" && left == 0) || (op->text == "||" && left != 0);
      const Int right = binary(op->text == "**" ? op->level - 1 : op->level);
      skipping_ = outer;
      left = failed_ ? 0 : apply(op->text, left, right);
    }
    --nested_;
    return left;
  }

  Int apply(std::string_view op, Int a, Int b) {
    if (op == "||")
      return a != 0 || b != 0;
    if (op == "&&")
      return a != 0 && b != 0;
    if (op == "==")
      return a == b;
    if (op == "!=")
      return a != b;
    if (op == "<=")
      return a <= b;
    if (op == ">=")
      return a >= b;
    if (op == "<")
      return a < b;
    if (op == ">")
      return a > b;
    if (op == "<<")
      return wrap(u(a) << (u(b) & 63));
    if (op == ">>")
      return a >> (u(b) & 63);
    if (op == "|")
      return a | b;
    if (op == "^")
      return a ^ b;
    if (op == "&")
      return a & b;
    if (op == "+")
      return wrap(u(a) + u(b));
    if (op == "-")
      return wrap(u(a) - u(b));
    if (op == "*")
      return wrap(u(a) * u(b));
    if (op == "**") {
      if (b < 0) {
        return skipping_ ? 0 : fail();
      }
      std::uint64_t out = 1, base = u(a);
      for (std::uint64_t n = u(b); n > 0; n >>= 1) {
        out *= (n & 1) ? base : 1;
        base *= base;
      }
      return wrap(out);
    }
    if (b == 0) {
      return skipping_ ? 0 : fail();  // division by zero: bash stops there
    }
    if (a == std::numeric_limits<Int>::min() && b == -1) {
      return op == "/" ? a : 0;
    }
    return op == "/" ? a / b : a % b;
  }

  Int unary() {
    if (++nested_ > 60) {
      return fail();
    }
    Int value = 0;
    skip();
    if (take("++") || (peek() == '-' && peek(1) == '-' && take("--"))) {
      const bool up = text_[at_ - 1] == '+';
      const std::string name = identifier();
      if (name.empty()) {
        return fail();
      }
      value = wrap(u(variable(name)) + (up ? 1 : u(-1)));
      store(name, value);
    } else if (take("-")) {
      value = wrap(0 - u(unary()));
    } else if (take("+")) {
      value = unary();
    } else if (take("!")) {
      value = unary() == 0;
    } else if (take("~")) {
      value = ~unary();
    } else if (take("(")) {
      value = comma();
      if (!failed_ && !take(")")) {
        return fail();
      }
    } else if (std::isdigit(static_cast<unsigned char>(peek()))) {
      value = literal();
    } else {
      value = named();
    }
    --nested_;
    return value;
  }

  std::string identifier() {
    skip();
    const std::size_t size = name_length(std::string_view(text_).substr(at_));
    std::string out = text_.substr(at_, size);
    at_ += size;
    return out;
  }

  Int literal() {
    std::uint64_t base = 10, value = 0;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      base = 16;
      at_ += 2;
    } else if (peek() == '0') {
      base = 8;
    }
    std::size_t begin = at_;
    while (true) {
      const char c = peek();
      std::uint64_t digit = 99;
      if (c >= '0' && c <= '9') {
        digit = static_cast<std::uint64_t>(c - '0');
      } else if (c >= 'a' && c <= 'z') {
        digit = static_cast<std::uint64_t>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'Z') {
        digit = static_cast<std::uint64_t>(c - 'A') + (base <= 36 ? 10 : 36);
      } else if (c == '#' && at_ > begin && value >= 2 && value <= 36) {
        base = value;
        value = 0;
        begin = ++at_;
        continue;
      } else {
        break;
      }
      if (digit >= base) {
        return fail();
      }
      value = value * base + digit;
      ++at_;
    }
    return wrap(value);
  }

  Int named() {
    const std::string name = identifier();
    if (name.empty()) {
      return fail();
    }
    if (peek() == '[') {
      return subscripted(name);
    }
    skip();
    for (const std::string_view op :
         {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}) {
      if (take(op)) {
        const Int old = variable(name);
        const Int value = apply(op.substr(0, op.size() - 1), old, ternary());
        store(name, value);
        return value;
      }
    }
    if (peek() == '=' && peek(1) != '=') {
      ++at_;
      const Int value = ternary();
      store(name, value);
      return value;
    }
    if (take("++")) {
      const Int value = variable(name);
      store(name, wrap(u(value) + 1));
      return value;
    }
    if (take("--")) {
      const Int value = variable(name);
      store(name, wrap(u(value) - 1));
      return value;
    }
    return variable(name);
  }

  Int subscripted(const std::string& name) {
    ++at_;
    const Int index = comma();
    if (failed_ || !take("]")) {
      return fail();
    }
    const Variable* variable = shell_.state_.find(name);
    if (!variable || variable->kind == Variable::Kind::map) {
      return skipping_ ? 0 : fail();
    }
    const Int count = static_cast<Int>(variable->values.size());
    const Int place = index < 0 ? index + count : index;
    if (place < 0 || place >= count) {
      return 0;
    }
    return of_text(variable->values[static_cast<std::size_t>(place)].text);
  }

  Int of_text(const Text& text) {
    env_default = env_default || text.env_default;
    for (const Char& c : text.chars) {
      env_default = env_default || c.has(Char::env_default);
    }
    if (!text.known()) {
      why = why ? why : shell_.notes_.first_unknown(text);
      return skipping_ ? 0 : fail();
    }
    if (depth_ > 8) {
      return fail();
    }
    Arithmetic inner(shell_, text.plain(), depth_ + 1);
    const std::optional<Int> value = inner.run();
    env_default = env_default || inner.env_default;
    why = why ? why : inner.why;
    return value ? *value : skipping_ ? 0 : fail();
  }

  Int variable(const std::string& name) {
    shell_.step();
    const Parameter value = shell_.lookup(name, {});
    if (!value.set) {
      if (value.from_environment && !shell_.assume_) {
        why = why ? why
                  : std::make_shared<Unknown>(
                        Unknown{Reason::environment, "$" + name, {}, false, {}});
        return skipping_ ? 0 : fail();
      }
      env_default = env_default || value.from_environment;
      return 0;
    }
    return value.fields.empty() ? 0 : of_text(value.fields.front().text);
  }

  void store(const std::string& name, Int value) {
    if (skipping_ || failed_) {
      return;
    }
    Variable variable;
    Field field;
    field.text = shell_.notes_.computed(std::to_string(value), {});
    variable.values = {field};
    shell_.set_variable(name, std::move(variable));
  }

  Evaluator& shell_;
  std::string text_;
  std::size_t at_ = 0;
  int depth_, nested_ = 0;
  bool failed_ = false, skipping_ = false;
};

std::optional<std::int64_t> Evaluator::arithmetic(const Text& expression, bool* env_default,
                                                  std::shared_ptr<const Unknown>* why) {
  const Text text = assume_ ? assumed(expression) : expression;
  if (!text.known() || text.size() > 4096) {
    if (why) {
      *why = notes_.first_unknown(text);
    }
    return std::nullopt;
  }
  Arithmetic reader(*this, text.plain(), 0);
  const std::optional<std::int64_t> value = reader.run();
  if (env_default) {
    *env_default = reader.env_default || text.env_default;
    for (const Char& c : text.chars) {
      *env_default = *env_default || c.has(Char::env_default);
    }
  }
  if (why) {
    *why = reader.why;
  }
  return value;
}

// For -eq and friends: plain integers only, as [ has it.
std::optional<std::int64_t> Evaluator::number(const Text& text) {
  if (!text.known()) {
    return std::nullopt;
  }
  const std::string plain = text.plain();
  const std::optional<long long> value = to_integer(trim(plain));
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

Text Evaluator::arithmetic_text(std::uint32_t begin, std::uint32_t end, const Span& where) {
  WordBuilder inside;
  inside.split = false;
  ++depth_;
  if (depth_ < 140) {
    expand_quoted(inside, begin, end);
  }
  --depth_;
  bool env_default = false;
  std::shared_ptr<const Unknown> why;
  const std::optional<std::int64_t> value = arithmetic(inside.current.text, &env_default, &why);
  if (!value) {
    Text out = notes_.unknown(why ? why->reason : Reason::dynamic,
                              "$((" + std::string(script_->view(begin, end)) + "))", where);
    notes_.never_empty();
    return out;
  }
  Text out = notes_.computed(std::to_string(*value), where);
  if (env_default) {
    out.env_default = true;
    for (Char& c : out.chars) {
      c.flags |= Char::env_default;
    }
  }
  return out;
}

}  // namespace shardlint::shell
