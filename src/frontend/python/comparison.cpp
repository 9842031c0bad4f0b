// What is true, equal, less or in.

#include "frontend/python/eval.h"
#include "frontend/python/numbers.h"

namespace shardlint::python {

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

}  // namespace shardlint::python
