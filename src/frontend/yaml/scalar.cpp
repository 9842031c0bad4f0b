#include "frontend/yaml/scalar.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/strings.h"

namespace shardlint::yaml {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool digit_(char c) {
  return digit(c) || c == '_';
}
bool octal_(char c) {
  return (c >= '0' && c <= '7') || c == '_';
}
bool binary_(char c) {
  return c == '0' || c == '1' || c == '_';
}
bool hex(char c) {
  return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool hex_(char c) {
  return hex(c) || c == '_';
}

// A reader of one pattern; every step either takes characters or leaves them.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  bool end() const { return at == text.size(); }
  char peek() const { return end() ? '\0' : text[at]; }
  bool take(std::string_view any) {
    if (end() || any.find(text[at]) == std::string_view::npos) {
      return false;
    }
    ++at;
    return true;
  }
  std::size_t run(bool (*is)(char)) {
    const std::size_t from = at;
    while (!end() && is(text[at])) {
      ++at;
    }
    return at - from;
  }
};

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text == word) {
      return true;
    }
  }
  return false;
}

std::optional<bool> boolean(std::string_view text, Mode mode) {
  if (one_of(text, {"true", "True", "TRUE"})) {
    return true;
  }
  if (one_of(text, {"false", "False", "FALSE"})) {
    return false;
  }
  if (mode != Mode::core12) {
    if (one_of(text, {"yes", "Yes", "YES", "on", "On", "ON"})) {
      return true;
    }
    if (one_of(text, {"no", "No", "NO", "off", "Off", "OFF"})) {
      return false;
    }
  }
  return std::nullopt;
}

// Digits of a base, underscores ignored. Beyond 64 bits: the nearest double.
Value number_of(bool negative, std::string_view digits, int base) {
  std::int64_t whole = 0;
  double rough = 0;
  bool exact = true;
  for (const char c : digits) {
    if (c == '_') {
      continue;
    }
    const int d = digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
    rough = rough * base + d;
    exact = exact && !__builtin_mul_overflow(whole, static_cast<std::int64_t>(base), &whole) &&
            !__builtin_add_overflow(whole, static_cast<std::int64_t>(d), &whole);
  }
  if (!exact) {
    return negative ? -rough : rough;
  }
  return negative ? -whole : whole;
}

// a:b:c, base 60, as YAML 1.1 has it. Each part after the first is 0 to 59.
bool sexagesimal_tail(Cursor& cursor) {
  std::size_t parts = 0;
  while (cursor.take(":")) {
    const std::size_t from = cursor.at;
    if (cursor.run(digit) == 0 || cursor.at - from > 2 ||
        (cursor.at - from == 2 && cursor.text[from] > '5')) {
      return false;
    }
    ++parts;
  }
  return parts > 0;
}

double sexagesimal(std::string_view text) {
  double value = 0;
  for (const std::string_view part : split(text, ':')) {
    value = value * 60 + to_double(replace_all(std::string(part), "_", "")).value_or(0);
  }
  return value;
}

std::optional<Value> integer11(std::string_view text) {
  Cursor cursor{text};
  const bool negative = cursor.peek() == '-';
  cursor.take("-+");
  const std::string_view body = text.substr(cursor.at);
  const auto rest = [&](std::size_t skip, bool (*is)(char)) {
    Cursor c{body.substr(skip)};
    return c.run(is) > 0 && c.end();
  };
  if (body == "0") {
    return Value(0);
  }
  if (body.starts_with("0b") && rest(2, binary_)) {
    return number_of(negative, body.substr(2), 2);
  }
  if (body.starts_with("0x") && rest(2, hex_)) {
    return number_of(negative, body.substr(2), 16);
  }
  if (body.starts_with("0") && rest(1, octal_)) {
    return number_of(negative, body.substr(1), 8);
  }
  if (body.empty() || body[0] < '1' || body[0] > '9') {
    return std::nullopt;
  }
  if (rest(1, digit_) || body.size() == 1) {
    return number_of(negative, body, 10);
  }
  Cursor tail{body};
  tail.run(digit_);
  if (sexagesimal_tail(tail) && tail.end()) {
    const double value = sexagesimal(body);
    return value < 9e15 ? Value(static_cast<std::int64_t>(negative ? -value : value))
                        : Value(negative ? -value : value);
  }
  return std::nullopt;
}

std::optional<Value> not_finite(std::string_view text) {
  const bool sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  if (one_of(text.substr(sign ? 1 : 0), {".inf", ".Inf", ".INF"})) {
    const double infinity = std::numeric_limits<double>::infinity();
    return text[0] == '-' ? -infinity : infinity;
  }
  if (one_of(text, {".nan", ".NaN", ".NAN"})) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return std::nullopt;
}

Value decimal(std::string_view text) {
  std::string plain = replace_all(std::string(text), "_", "");
  if (plain.starts_with('+')) {
    plain.erase(0, 1);
  }
  if (plain.ends_with('.')) {
    plain += '0';
  }
  return std::strtod(plain.c_str(), nullptr);
}

// YAML 1.1's floats: a point is needed, and a sign in the exponent. OmegaConf needs neither.
std::optional<Value> float11(std::string_view text, bool omegaconf) {
  if (auto value = not_finite(text)) {
    return value;
  }
  const auto exponent = [&](Cursor& cursor, bool sign_needed) {
    if (!cursor.take("eE")) {
      return false;
    }
    const bool sign = cursor.take("-+");
    return (sign || !sign_needed) && cursor.run(digit) > 0;
  };
  if (text.starts_with('.')) {
    Cursor cursor{text, 1};
    if (!digit(cursor.peek()) || cursor.run(digit_) == 0) {
      return std::nullopt;
    }
    if (cursor.end() || (exponent(cursor, true) && cursor.end())) {
      return decimal(text);
    }
    return std::nullopt;
  }
  Cursor cursor{text};
  const bool negative = cursor.peek() == '-';
  cursor.take("-+");
  const std::size_t first = cursor.at;
  if (!digit(cursor.peek())) {
    return std::nullopt;
  }
  cursor.run(digit_);
  Cursor base60 = cursor;
  if (cursor.take(".")) {
    cursor.run(digit_);
    if (cursor.end() || (exponent(cursor, !omegaconf) && cursor.end())) {
      return decimal(text);
    }
    return std::nullopt;
  }
  const std::string_view digits = text.substr(first, base60.at - first);
  const bool neat = !digits.ends_with('_') && digits.find("__") == std::string_view::npos;
  if (omegaconf && neat && exponent(cursor, false) && cursor.end()) {
    return decimal(text);
  }
  if (sexagesimal_tail(base60) && base60.take(".")) {
    base60.run(digit_);
    if (base60.end()) {
      const double value = sexagesimal(text.substr(first));
      return negative ? -value : value;
    }
  }
  return std::nullopt;
}

std::optional<Value> number12(std::string_view text) {
  if (auto value = not_finite(text)) {
    return value;
  }
  if (text.starts_with("0o") || text.starts_with("0x")) {
    Cursor cursor{text.substr(2)};
    const bool octal = text[1] == 'o';
    const auto digits = octal ? +[](char c) { return c >= '0' && c <= '7'; } : hex;
    if (cursor.run(digits) > 0 && cursor.end()) {
      return number_of(false, text.substr(2), octal ? 8 : 16);
    }
    return std::nullopt;
  }
  Cursor cursor{text};
  const bool negative = cursor.peek() == '-';
  cursor.take("-+");
  const std::size_t from = cursor.at;
  const std::size_t whole = cursor.run(digit);
  if (whole > 0 && cursor.end()) {
    return number_of(negative, text.substr(from), 10);
  }
  std::size_t fraction = 0;
  if (cursor.take(".")) {
    fraction = cursor.run(digit);
  }
  if (whole + fraction == 0) {
    return std::nullopt;
  }
  if (cursor.take("eE")) {
    cursor.take("-+");
    if (cursor.run(digit) == 0) {
      return std::nullopt;
    }
  }
  return cursor.end() ? std::optional<Value>(decimal(text)) : std::nullopt;
}

bool null_text(std::string_view text) {
  return one_of(text, {"", "~", "null", "Null", "NULL"});
}

std::optional<Value> number(std::string_view text, Mode mode) {
  if (mode == Mode::core12) {
    return number12(text);
  }
  if (auto value = integer11(text)) {
    return value;
  }
  return float11(text, mode == Mode::omegaconf);
}

constexpr std::string_view yaml_tag = "tag:yaml.org,2002:";

// With a tag the text must fit it. Python's constructors take a little more than the patterns.
Value tagged(std::string_view text, std::string_view tag, Mode mode) {
  if (!tag.starts_with(yaml_tag)) {
    return unknown(Reason::dynamic, "a value tagged " + std::string(tag));
  }
  tag.remove_prefix(yaml_tag.size());
  if (tag == "str") {
    return text;
  }
  if (tag == "null" && null_text(text)) {
    return {};
  }
  if (const auto value = boolean(text, mode); tag == "bool" && value) {
    return *value;
  }
  const auto value = number(text, mode);
  if (tag == "int" && value && value->if_integer()) {
    return *value;
  }
  if (tag == "float" && value) {
    return value->number();
  }
  return unknown(Reason::bad_type, "'" + std::string(text) + "' as !!" + std::string(tag));
}

}  // namespace

Value resolve_scalar(std::string_view text, Node::Style style, std::string_view tag, Mode mode) {
  if (tag == "!") {
    return text;
  }
  if (!tag.empty()) {
    return tagged(text, tag, mode);
  }
  if (style != Node::Style::plain) {
    return text;
  }
  if (null_text(text)) {
    return {};
  }
  if (const auto value = boolean(text, mode)) {
    return *value;
  }
  if (auto value = number(text, mode)) {
    return *value;
  }
  return text;
}

Value to_value(const Node& node, Mode mode) {
  const Node& real = node.real();
  switch (real.kind) {
    case Node::Kind::null:
      return {};
    case Node::Kind::scalar:
      return resolve_scalar(real.text, real.style, real.tag, mode);
    case Node::Kind::sequence: {
      List list;
      for (const Node* item : real.items()) {
        list.push_back(to_value(*item, mode));
      }
      return list;
    }
    case Node::Kind::mapping: {
      Map map;
      for (const Pair& pair : real.entries()) {
        const Value key = to_value(*pair.key, mode);
        map.emplace_back(key.if_string() ? *key.if_string() : key.text(),
                         to_value(*pair.value, mode));
      }
      return map;
    }
    case Node::Kind::alias:
      break;
  }
  return {};
}

}  // namespace shardlint::yaml
