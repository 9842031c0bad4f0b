#include "frontend/overrides/convert.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/strings.h"

namespace shardlint {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view strip(std::string_view text) {
  constexpr std::string_view blank = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

// Drops underscores that stand between digits; nothing when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !digit(text[i - 1]) || !digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

// list := sum; sum := product ('+' product)*; product := atom ('*' atom)*;
// atom := integer | '[' items ']' | '(' sum ')'. What eval() does with the permitted characters,
// except for tuples, which upstream could not use either.
class Pattern {
 public:
  explicit Pattern(std::string_view text) : text_(text) {}

  std::optional<Value> read() {
    std::optional<Value> value = sum(0);
    if (!value || at_ != text_.size())
      return std::nullopt;
    return value;
  }

 private:
  static constexpr std::size_t most = 100'000;

  std::optional<Value> sum(int depth) {
    std::optional<Value> left = product(depth);
    while (left && next('+')) {
      const std::optional<Value> right = product(depth);
      left = right ? add(*left, *right) : std::nullopt;
    }
    return left;
  }
  std::optional<Value> product(int depth) {
    std::optional<Value> left = atom(depth);
    while (left && next('*')) {
      const std::optional<Value> right = atom(depth);
      left = right ? times(*left, *right) : std::nullopt;
    }
    return left;
  }
  std::optional<Value> atom(int depth) {
    if (depth > 50)
      return std::nullopt;
    if (next('(')) {
      std::optional<Value> inner = sum(depth + 1);
      return inner && next(')') ? inner : std::nullopt;
    }
    if (next('[')) {
      List items;
      while (!next(']')) {
        std::optional<Value> item = sum(depth + 1);
        if (!item || items.size() >= most)
          return std::nullopt;
        items.push_back(*item);
        if (!next(',') && peek() != ']')
          return std::nullopt;
      }
      return Value(std::move(items));
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && digit(text_[at_]))
      ++at_;
    const std::string_view number = text_.substr(begin, at_ - begin);
    if (number.size() > 1 && number.front() == '0' && number.find_first_not_of('0') != number.npos)
      return std::nullopt;  // 012 is no integer to Python
    return python_integer(number);
  }
  static std::optional<Value> add(const Value& a, const Value& b) {
    if (a.if_integer() && b.if_integer()) {
      if (*a.if_integer() > INT32_MAX || *b.if_integer() > INT32_MAX)
        return std::nullopt;
      return Value(*a.if_integer() + *b.if_integer());
    }
    if (!a.if_list() || !b.if_list())
      return std::nullopt;
    List out = *a.if_list();
    if (out.size() + b.if_list()->size() > most)
      return std::nullopt;
    out.insert(out.end(), b.if_list()->begin(), b.if_list()->end());
    return Value(std::move(out));
  }
  static std::optional<Value> times(const Value& a, const Value& b) {
    if (a.if_integer() && b.if_integer()) {
      if (*a.if_integer() > INT32_MAX || *b.if_integer() > INT32_MAX)
        return std::nullopt;
      return Value(*a.if_integer() * *b.if_integer());
    }
    const List* list = a.if_list() ? a.if_list() : b.if_list();
    const std::int64_t* count = a.if_list() ? b.if_integer() : a.if_integer();
    if (!list || !count)
      return std::nullopt;
    if (*count > static_cast<std::int64_t>(most) ||
        list->size() * static_cast<std::size_t>(*count) > most) {
      return std::nullopt;
    }
    List out;
    for (std::int64_t i = 0; i < *count; ++i)
      out.insert(out.end(), list->begin(), list->end());
    return Value(std::move(out));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool next(char c) {
    if (peek() != c)
      return false;
    ++at_;
    return true;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Value> python_integer(std::string_view text) {
  text = strip(text);
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-'))
    digits.remove_prefix(1);
  const std::optional<std::string> plain = without_underscores(digits);
  if (!plain || plain->empty() || !std::all_of(plain->begin(), plain->end(), digit)) {
    return std::nullopt;
  }
  const std::string whole = (text[0] == '-' ? "-" : "") + *plain;
  if (const std::optional<long long> value = to_integer(whole)) {
    return Value(static_cast<std::int64_t>(*value));
  }
  return unknown(Reason::limit, std::string(text));
}

std::optional<Value> python_real(std::string_view text) {
  text = strip(text);
  std::string_view rest = text;
  const bool minus = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-'))
    rest.remove_prefix(1);
  const std::string word = lower(rest);
  if (word == "inf" || word == "infinity") {
    const double huge = std::numeric_limits<double>::infinity();
    return Value(minus ? -huge : huge);
  }
  if (word == "nan")
    return Value(std::numeric_limits<double>::quiet_NaN());
  const std::optional<std::string> plain = without_underscores(rest);
  if (!plain || plain->empty() || plain->find_first_not_of("0123456789.eE+-") != plain->npos ||
      !(digit(plain->front()) || plain->front() == '.')) {
    return std::nullopt;
  }
  const std::optional<double> value = to_double(*plain);
  if (!value)
    return std::nullopt;
  return Value(minus ? -*value : *value);
}

std::optional<Value> list_pattern(std::string_view text) {
  if (text.find('[') == std::string_view::npos)
    return python_integer(text);
  return Pattern(text).read();
}

std::optional<Value> integer_tuple(std::string_view text) {
  text = strip(text);
  while (!text.empty() && (text.front() == '(' || text.front() == ')'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == '(' || text.back() == ')'))
    text.remove_suffix(1);
  List out;
  for (std::string_view part : split(text, ',')) {
    const std::optional<Value> item = python_integer(part);
    if (!item)
      return std::nullopt;
    out.push_back(*item);
  }
  return Value(std::move(out));
}

std::optional<Value> convert_word(const Option& option, std::string_view text) {
  switch (option.convert) {
    case Convert::text:
    case Convert::enum_name:
      return Value(text);
    case Convert::integer:
      return python_integer(text);
    case Convert::real:
      return python_real(text);
    case Convert::boolean:
      return Value(!text.empty());
    case Convert::pattern:
      return list_pattern(text);
    case Convert::integer_tuple:
      return integer_tuple(text);
    case Convert::other:
      return unknown(Reason::dynamic, std::string(text));
  }
  return std::nullopt;
}

std::string_view expected_of(Convert convert) {
  switch (convert) {
    case Convert::integer:
      return "an integer";
    case Convert::real:
      return "a number";
    case Convert::pattern:
      return "an integer or a list such as ([1]*3+[0]*1)*3";
    case Convert::integer_tuple:
      return "integers such as 1,2,3";
    case Convert::text:
    case Convert::enum_name:
    case Convert::boolean:
    case Convert::other:
      return "text";
  }
  return "text";
}

}  // namespace shardlint
