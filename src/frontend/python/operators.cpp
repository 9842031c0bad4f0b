#include <cmath>

#include "frontend/python/eval.h"
#include "frontend/python/literal.h"

namespace shardlint::python {
namespace {

bool is_sequence(const Val& value) {
  return value.is(Type::object) &&
         (value.object->shape == Shape::list || value.object->shape == Shape::tuple ||
          value.object->shape == Shape::set);
}

bool is_integral(const Val& value) {
  return value.is(Type::integer) || value.is(Type::boolean);
}
bool is_numeric(const Val& value) {
  return is_integral(value) || value.is(Type::real);
}
std::int64_t as_integer(const Val& value) {
  return value.is(Type::boolean) ? value.boolean : value.integer;
}
double as_real(const Val& value) {
  return value.is(Type::real) ? value.real : static_cast<double>(as_integer(value));
}

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

std::optional<bool> Interpreter::truth(const Val& value) {
  switch (value.type) {
    case Type::none:
      return false;
    case Type::boolean:
      return value.boolean;
    case Type::integer:
      return value.integer != 0;
    case Type::real:
      return value.real != 0;
    case Type::text:
      return !value.text->empty();
    case Type::object: {
      const Object& object = *value.object;
      switch (object.shape) {
        case Shape::list:
        case Shape::tuple:
        case Shape::set:
        case Shape::dict:
          if (object.havoc) {
            return std::nullopt;
          }
          return !object.items->values.empty();
        case Shape::instance:
          if (object.cls && (method(*object.cls, names_.intern("__bool__")) ||
                             method(*object.cls, common_.size_dunder))) {
            return std::nullopt;
          }
          return true;
        case Shape::opaque:
          return std::nullopt;
        default:
          return true;
      }
    }
    case Type::function:
    case Type::bound:
    case Type::cls:
    case Type::module:
      return true;
    case Type::external:
      if (*value.text == "typing.TYPE_CHECKING") {
        return false;
      }
      return std::nullopt;
    case Type::unknown:
      return std::nullopt;
    case Type::alternatives: {
      std::optional<bool> all;
      for (const Val& one : value.any->values) {
        const std::optional<bool> decided = truth(one);
        if (!decided || (all && *all != *decided)) {
          return std::nullopt;
        }
        all = decided;
      }
      return all;
    }
  }
  return std::nullopt;
}

std::optional<bool> Interpreter::is_none(const Val& value) {
  switch (value.type) {
    case Type::none:
      return true;
    case Type::unknown:
      return value.mystery->not_null ? std::optional(false) : std::nullopt;
    case Type::external:
      return std::nullopt;
    case Type::object:
      return value.object->shape == Shape::opaque ? std::nullopt : std::optional(false);
    case Type::alternatives:
      return std::nullopt;
    default:
      return false;
  }
}

std::optional<bool> Interpreter::equal(const Val& a, const Val& b) {
  if (a.is(Type::alternatives) || b.is(Type::alternatives)) {
    const Val& many = a.is(Type::alternatives) ? a : b;
    const Val& other = a.is(Type::alternatives) ? b : a;
    std::optional<bool> all;
    for (const Val& one : many.any->values) {
      const std::optional<bool> decided = equal(one, other);
      if (!decided || (all && *all != *decided)) {
        return std::nullopt;
      }
      all = decided;
    }
    return all;
  }
  if (is_numeric(a) && is_numeric(b)) {
    return a.is(Type::real) || b.is(Type::real) ? as_real(a) == as_real(b)
                                                : as_integer(a) == as_integer(b);
  }
  if (a.is_scalar() && b.is_scalar()) {
    return a.type == b.type && same(a, b);
  }
  const auto open = [](const Val& v) {
    return v.is(Type::unknown) || (v.is(Type::object) && v.object->shape == Shape::opaque);
  };
  if (a.is(Type::none) || b.is(Type::none)) {
    return is_none(a.is(Type::none) ? b : a);
  }
  if (open(a) || open(b)) {
    return std::nullopt;
  }
  if (a.is(Type::external) && b.is(Type::external)) {
    if (*a.text == *b.text) {
      return true;
    }
    // Data types of torch are distinct; other names may be bound to one thing.
    return a.text->starts_with("torch.") && b.text->starts_with("torch.") ? std::optional(false)
                                                                          : std::nullopt;
  }
  if (a.is(Type::external) || b.is(Type::external)) {
    const Val& name = a.is(Type::external) ? a : b;
    const Val& other = a.is(Type::external) ? b : a;
    return name.text->starts_with("torch.") && other.is_scalar() ? std::optional(false)
                                                                 : std::nullopt;
  }
  if (a.is(Type::object) && b.is(Type::object)) {
    const Object &x = *a.object, &y = *b.object;
    if (&x == &y) {
      return true;
    }
    if (x.shape == Shape::member && y.shape == Shape::member) {
      return false;
    }
    if (x.shape == y.shape && (x.shape == Shape::list || x.shape == Shape::tuple) && !x.havoc &&
        !y.havoc) {
      if (x.items->values.size() != y.items->values.size()) {
        return false;
      }
      bool certain = true;
      for (std::size_t i = 0; i < x.items->values.size(); ++i) {
        const std::optional<bool> one = equal(x.items->values[i], y.items->values[i]);
        if (one == std::optional(false)) {
          return false;
        }
        certain = certain && one;
      }
      return certain ? std::optional(true) : std::nullopt;
    }
    return std::nullopt;
  }
  if (a.is(Type::object) != b.is(Type::object)) {
    const Object& object = a.is(Type::object) ? *a.object : *b.object;
    const Val& other = a.is(Type::object) ? b : a;
    if (!other.is_scalar()) {
      return std::nullopt;
    }
    if (object.shape == Shape::member) {  // a member that is a string or an integer too
      for (const Class* base : object.cls->order) {
        if (base->qualified != object.cls->qualified && base->is_enum && !base->node) {
          return std::nullopt;
        }
      }
      return object.cls->complete ? std::optional(false) : std::nullopt;
    }
    if (object.shape == Shape::instance) {
      return std::nullopt;
    }
    return false;
  }
  if (a.type != b.type) {
    return false;
  }
  return same(a, b) ? std::optional(true) : std::nullopt;
}

std::optional<bool> Interpreter::compare(Op op, const Val& a, const Val& b) {
  switch (op) {
    case Op::equal:
      return equal(a, b);
    case Op::not_equal: {
      const std::optional<bool> decided = equal(a, b);
      return decided ? std::optional(!*decided) : std::nullopt;
    }
    case Op::is:
    case Op::is_not: {
      std::optional<bool> decided;
      if (b.is(Type::none) || a.is(Type::none)) {
        decided = is_none(b.is(Type::none) ? a : b);
      } else if (a.is(Type::boolean) && b.is(Type::boolean)) {
        decided = a.boolean == b.boolean;
      } else if ((a.is(Type::boolean) && b.is_scalar()) || (b.is(Type::boolean) && a.is_scalar())) {
        decided = false;
      } else if (a.is(Type::object) && b.is(Type::object) && a.object->shape != Shape::opaque) {
        decided = a.object == b.object;
      } else if (a.is(Type::cls) && b.is(Type::cls)) {
        decided = a.cls == b.cls;
      } else if (a.is(Type::external) && b.is(Type::external)) {
        decided = equal(a, b);
      }
      return decided ? std::optional(*decided == (op == Op::is)) : std::nullopt;
    }
    case Op::in:
    case Op::not_in: {
      std::optional<bool> found;
      if (a.is(Type::text) && b.is(Type::text)) {
        found = b.text->find(*a.text) != std::string::npos;
      } else if (b.is(Type::object) && b.object->items) {
        const bool dict = b.object->shape == Shape::dict;
        const std::vector<Val>& all = dict ? b.object->items->keys : b.object->items->values;
        bool certain = !b.object->havoc;
        found = false;
        for (const Val& one : all) {
          const std::optional<bool> decided = equal(a, one);
          if (decided == std::optional(true)) {
            // A key that a condition may have left out is not certainly there.
            found = true;
            certain = true;
            if (dict && b.object->havoc) {
              certain = false;
            }
            break;
          }
          certain = certain && decided;
        }
        if (!certain) {
          found = std::nullopt;
        }
      }
      return found ? std::optional(*found == (op == Op::in)) : std::nullopt;
    }
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: {
      if (a.is(Type::none) || b.is(Type::none)) {
        if (a.is_scalar() && b.is_scalar()) {
          raise("TypeError", "None is not ordered");
        }
        return std::nullopt;
      }
      if (is_integral(a) && is_integral(b)) {
        const std::int64_t x = as_integer(a), y = as_integer(b);
        return op == Op::less         ? x < y
               : op == Op::less_equal ? x <= y
               : op == Op::greater    ? x > y
                                      : x >= y;
      }
      if (is_numeric(a) && is_numeric(b)) {
        const double x = as_real(a), y = as_real(b);
        return op == Op::less         ? x < y
               : op == Op::less_equal ? x <= y
               : op == Op::greater    ? x > y
                                      : x >= y;
      }
      if (a.is(Type::text) && b.is(Type::text)) {
        const int order = a.text->compare(*b.text);
        return op == Op::less         ? order < 0
               : op == Op::less_equal ? order <= 0
               : op == Op::greater    ? order > 0
                                      : order >= 0;
      }
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

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

const std::vector<Val>* Interpreter::elements(const Val& value) {
  return is_sequence(value) && !value.object->havoc ? &value.object->items->values : nullptr;
}

std::optional<std::vector<Val>> Interpreter::iterate(const Val& value) {
  if (const std::vector<Val>* all = elements(value)) {
    return *all;
  }
  if (value.is(Type::object) && value.object->shape == Shape::dict && !value.object->havoc) {
    return value.object->items->keys;
  }
  if (value.is(Type::text) && value.text->size() <= limits_.iterations) {
    std::vector<Val> letters;
    for (char c : *value.text) {
      if (static_cast<unsigned char>(c) >= 0x80) {
        return std::nullopt;
      }
      letters.push_back(text(std::string(1, c), value.where));
    }
    return letters;
  }
  if (value.is(Type::cls) && value.cls->is_enum) {
    std::vector<Val> members;
    for (Name name : value.cls->members) {
      if (auto member = class_attribute(*value.cls, name)) {
        members.push_back(*member);
      }
    }
    return members;
  }
  if (value.is(Type::none) || value.is(Type::integer) || value.is(Type::real) ||
      value.is(Type::boolean)) {
    raise("TypeError", "not iterable");
  }
  return std::nullopt;
}

const Val* Interpreter::dict_get(const Object& object, const Val& key, bool& certain) {
  certain = !object.havoc && key.is_scalar();
  for (std::size_t i = 0; i < object.items->keys.size(); ++i) {
    const std::optional<bool> found = equal(object.items->keys[i], key);
    if (found == std::optional(true)) {
      if (object.havoc) {
        certain = false;
      }
      return &object.items->values[i];
    }
    certain = certain && found;
  }
  return nullptr;
}

}  // namespace shardlint::python
