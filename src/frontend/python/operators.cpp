#include <cmath>

#include "frontend/python/eval.h"
#include "frontend/python/literal.h"
#include "frontend/python/numbers.h"

namespace shardlint::python {
namespace {

Val make_integer(std::int64_t value, const Span& where) {
  Val made;
  made.type = Type::integer;
  made.integer = value;
  made.where = where;
  return made;
}

Val make_real(double value, const Span& where) {
  Val made;
  made.type = Type::real;
  made.real = value;
  made.where = where;
  return made;
}

std::optional<std::int64_t> integer_operation(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Op::add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::subtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::multiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::floor_divide:
    case Op::modulo: {
      if (b == 0 || (a == INT64_MIN && b == -1)) {
        return std::nullopt;
      }
      std::int64_t quotient = a / b, rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        --quotient;
        rest += b;
      }
      return op == Op::modulo ? rest : quotient;
    }
    case Op::power: {
      if (b < 0 || b > 63) {
        return std::nullopt;
      }
      result = 1;
      for (std::int64_t i = 0; i < b; ++i) {
        if (__builtin_mul_overflow(result, a, &result)) {
          return std::nullopt;
        }
      }
      return result;
    }
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::shift_left:
      if (b < 0 || b > 62 || a < 0 || (a >> (62 - b)) != 0) {
        return std::nullopt;
      }
      return a << b;
    case Op::shift_right:
      return b < 0 ? std::nullopt : std::optional(b > 63 ? (a < 0 ? -1 : 0) : a >> b);
    default:
      return std::nullopt;
  }
}

}  // namespace

Val Interpreter::unary(Op op, const Val& value, const Span& where) {
  if (op == Op::not_) {
    const std::optional<bool> decided = truth(value);
    return yes_no(decided ? std::optional(!*decided) : std::nullopt, where, "not ...");
  }
  if (is_integral(value) && as_integer(value) != INT64_MIN) {
    const std::int64_t x = as_integer(value);
    return make_integer(op == Op::negate ? -x : op == Op::invert ? ~x : x, where);
  }
  if (value.is(Type::real) && op != Op::invert) {
    return make_real(op == Op::negate ? -value.real : value.real, where);
  }
  if (value.is(Type::none) || value.is(Type::text)) {
    raise("TypeError", "bad operand for a unary operator");
  }
  return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true);
}

Val Interpreter::binary(Op op, const Val& a, const Val& b, const Span& where) {
  const auto unknown = [&](Hint hint = Hint::none) {
    const Reason reason = a.is(Type::unknown)   ? a.mystery->reason
                          : b.is(Type::unknown) ? b.mystery->reason
                                                : Reason::dynamic;
    return mystery(reason, std::string(where.text().substr(0, 60)), where, true, hint);
  };
  if (is_integral(a) && is_integral(b) && op != Op::divide &&
      !(op == Op::power && as_integer(b) < 0)) {
    if ((op == Op::floor_divide || op == Op::modulo) && as_integer(b) == 0) {
      raise("ZeroDivisionError", "integer division or modulo by zero");
    }
    const auto result = integer_operation(op, as_integer(a), as_integer(b));
    if (!result) {
      return mystery(Reason::limit, "an integer beyond 64 bits", where, true, Hint::integer);
    }
    if (a.is(Type::boolean) && b.is(Type::boolean) &&
        (op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor)) {
      return yes_no(*result != 0, where, "");
    }
    return make_integer(*result, where);
  }
  if (is_numeric(a) && is_numeric(b)) {
    const double x = as_real(a), y = as_real(b);
    switch (op) {
      case Op::add:
        return make_real(x + y, where);
      case Op::subtract:
        return make_real(x - y, where);
      case Op::multiply:
        return make_real(x * y, where);
      case Op::divide:
        if (y == 0) {
          raise("ZeroDivisionError", "division by zero");
        }
        return make_real(x / y, where);
      case Op::floor_divide:
        if (y == 0) {
          raise("ZeroDivisionError", "division by zero");
        }
        return make_real(std::floor(x / y), where);
      case Op::power:
        return make_real(std::pow(x, y), where);
      default:
        return unknown(Hint::real);
    }
  }
  if (op == Op::add && a.is(Type::text) && b.is(Type::text)) {
    if (a.text->size() + b.text->size() > 1'000'000) {
      return mystery(Reason::limit, "a string of more than a million bytes", where, true,
                     Hint::text);
    }
    return text(*a.text + *b.text, where);
  }
  if (op == Op::multiply &&
      ((a.is(Type::text) && is_integral(b)) || (b.is(Type::text) && is_integral(a)))) {
    const std::string& piece = a.is(Type::text) ? *a.text : *b.text;
    const std::int64_t times = as_integer(a.is(Type::text) ? b : a);
    if (times > 0 && static_cast<std::size_t>(times) > 1'000'000 / (piece.size() + 1)) {
      return mystery(Reason::limit, "a string of more than a million bytes", where, true,
                     Hint::text);
    }
    std::string all;
    for (std::int64_t i = 0; i < times; ++i) {
      all += piece;
    }
    return text(std::move(all), where);
  }
  if (op == Op::add && is_sequence(a) && is_sequence(b) && a.object->shape == b.object->shape &&
      !a.object->havoc && !b.object->havoc) {
    std::vector<Val> all = a.object->items->values;
    all.insert(all.end(), b.object->items->values.begin(), b.object->items->values.end());
    return sequence(a.object->shape, std::move(all), where);
  }
  if (op == Op::multiply &&
      ((is_sequence(a) && is_integral(b)) || (is_sequence(b) && is_integral(a)))) {
    const Object& list = is_sequence(a) ? *a.object : *b.object;
    const std::int64_t times = as_integer(is_sequence(a) ? b : a);
    const std::size_t size = list.items->values.size();
    if (list.havoc ||
        (times > 0 && size > 0 && static_cast<std::size_t>(times) > limits_.items / size)) {
      return mystery(list.havoc ? Reason::dynamic : Reason::limit, "a long list", where, true,
                     Hint::object);
    }
    std::vector<Val> all;
    for (std::int64_t i = 0; i < times; ++i) {
      all.insert(all.end(), list.items->values.begin(), list.items->values.end());
    }
    return sequence(list.shape, std::move(all), where);
  }
  if (op == Op::bit_or && a.is(Type::object) && b.is(Type::object) &&
      a.object->shape == Shape::dict && b.object->shape == Shape::dict && !a.object->havoc &&
      !b.object->havoc) {
    Val made = dict(a.object->items->keys, a.object->items->values, where);
    const Items& more = *b.object->items;
    for (std::size_t i = 0; i < more.keys.size(); ++i) {
      Items items = *made.object->items;
      bool found = false;
      for (std::size_t j = 0; j < items.keys.size(); ++j) {
        if (equal(items.keys[j], more.keys[i]) == std::optional(true)) {
          items.values[j] = more.values[i];
          found = true;
        }
      }
      if (!found) {
        items.keys.push_back(more.keys[i]);
        items.values.push_back(more.values[i]);
      }
      made.object->items = keep(std::move(items));
    }
    return made;
  }
  const auto number_or_text = [](const Val& v) { return v.is_scalar(); };
  if (number_or_text(a) && number_or_text(b) && op != Op::modulo &&
      !(a.is(Type::text) && b.is(Type::text)) && op != Op::bit_or) {
    raise("TypeError", "unsupported operand types");
  }
  const bool path = op == Op::divide;  // pathlib
  return unknown(path                                   ? Hint::none
                 : a.is(Type::text) || b.is(Type::text) ? Hint::text
                                                        : Hint::none);
}

std::optional<std::string> Interpreter::str(const Val& value) {
  switch (value.type) {
    case Type::none:
      return "None";
    case Type::boolean:
      return value.boolean ? "True" : "False";
    case Type::integer:
      return std::to_string(value.integer);
    case Type::real:
      return float_repr(value.real);
    case Type::text:
      return *value.text;
    default:
      return repr(value);
  }
}

std::optional<std::string> Interpreter::repr(const Val& value) {
  if (value.is(Type::text)) {
    return string_repr(*value.text);
  }
  if (value.is_scalar()) {
    return str(value);
  }
  if (is_sequence(value) && !value.object->havoc && value.object->shape != Shape::set) {
    const bool list = value.object->shape == Shape::list;
    std::string out = list ? "[" : "(";
    const std::vector<Val>& all = value.object->items->values;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].is_scalar()) {
        return std::nullopt;
      }
      out += (i ? ", " : "") + repr(all[i]).value_or("");
    }
    return out + (list ? "]" : all.size() == 1 ? ",)" : ")");
  }
  return std::nullopt;
}

}  // namespace shardlint::python
