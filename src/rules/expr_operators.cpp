#include "rules/expr_operators.h"

#include <algorithm>
#include <cmath>

namespace shardlint::rules {
namespace {

std::int64_t as_int(const Value& v) {
  return v.if_integer() ? *v.if_integer() : static_cast<std::int64_t>(v.number());
}

Value real(Op op, double a, double b) {
  if ((op == Op::div || op == Op::floordiv || op == Op::mod) && b == 0) {
    return bad_type("division by zero");
  }
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::floordiv:
      return std::floor(a / b);
    default:
      return a - b * std::floor(a / b);
  }
}

// Python's // and % round towards minus infinity.
Value whole(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool overflow = false;
  switch (op) {
    case Op::add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Op::sub:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Op::mul:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    default:
      if (b == 0) {
        return bad_type("division by zero");
      }
      if (b == -1) {
        overflow = __builtin_sub_overflow(std::int64_t{0}, a, &out);
        return op == Op::mod ? Value(std::int64_t{0})
                             : (overflow ? bad_type("the number is too large") : Value(out));
      }
      const std::int64_t quotient = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
      return op == Op::floordiv ? Value(quotient) : Value(a - quotient * b);
  }
  return overflow ? bad_type("the number is too large") : Value(out);
}

}  // namespace

bool holds_unknown(const Value& value) {
  if (value.is_unknown()) {
    return true;
  }
  if (const List* list = value.if_list()) {
    return std::any_of(list->begin(), list->end(), holds_unknown);
  }
  if (const Map* map = value.if_map()) {
    return std::any_of(map->begin(), map->end(),
                       [](const auto& item) { return holds_unknown(item.second); });
  }
  return false;
}

Value undecided(const Value& value) {
  Unknown out = *value.if_unknown();
  out.domain.clear();
  out.not_null = true;
  return out;
}

Value derived(const Value& value) {
  Unknown out = *value.if_unknown();
  out.domain.clear();
  out.not_null = false;
  return out;
}

// true, false, or the unknown.
Value truth(const Value& value) {
  return value.is_unknown() ? decide(value, truthy) : Value(truthy(value));
}

Value negate(const Value& value) {
  return value.is_unknown() ? value : Value(!truthy(value));
}

Value either(const Value& a, const Value& b) {
  if (!a.is_unknown() && truthy(a)) {
    return true;
  }
  return b.is_unknown() || truthy(b) ? b : a;
}

// `unknown or 1`: one of the left values that do not give way to the right one, or the right one.
Value fallback(const Value& left, const Value& right, bool decider) {
  Unknown out = *left.if_unknown();
  std::erase_if(out.domain, [&](const Value& v) { return truthy(v) != decider; });
  if (!out.domain.empty()) {
    out.domain.push_back(right);
  }
  out.not_null = decider && !right.is_null();
  return out;
}

Value equal(const Value& a, const Value& b) {
  if (is_undefined(a) || is_undefined(b)) {
    return undefined();
  }
  if (a.is_unknown() && b.is_unknown()) {
    return undecided(a);
  }
  if (a.is_unknown() || b.is_unknown()) {
    const Value& u = a.is_unknown() ? a : b;
    const Value& known = a.is_unknown() ? b : a;
    if (known.is_null() && u.if_unknown()->not_null) {
      return false;
    }
    return holds_unknown(known) ? undecided(u)
                                : decide(u, [&](const Value& v) { return v == known; });
  }
  if (holds_unknown(a) || holds_unknown(b)) {
    const List *x = a.if_list(), *y = b.if_list();
    if (!x != !y || (x && y && x->size() != y->size())) {
      return false;
    }
    return unknown(Reason::dynamic, "part of the value is not known");
  }
  return a == b;
}

Value compare(Op op, const Value& a, const Value& b) {
  const auto holds = [op](std::int64_t o) {
    return op == Op::lt ? o < 0 : op == Op::le ? o <= 0 : op == Op::gt ? o > 0 : o >= 0;
  };
  const auto test = [&](const Value& x, const Value& y) -> Value {
    const Value o = order(x, y);
    return o.is_unknown() ? o : Value(holds(*o.if_integer()));
  };
  if (is_undefined(a) || is_undefined(b)) {
    return undefined();
  }
  if (a.is_unknown() != b.is_unknown()) {
    const Value& u = a.is_unknown() ? a : b;
    const Value& known = a.is_unknown() ? b : a;
    if (holds_unknown(known)) {
      return undecided(u);
    }
    bool ordered = true;
    for (const Value& candidate : u.if_unknown()->domain) {
      ordered = ordered && !order(candidate, known).is_unknown();
    }
    if (!ordered) {
      return undecided(u);
    }
    return decide(u, [&](const Value& v) {
      return truthy(a.is_unknown() ? test(v, known) : test(known, v));
    });
  }
  return a.is_unknown() ? undecided(a) : test(a, b);
}

Value contains(const Value& item, const Value& container) {
  if (is_undefined(item) || is_undefined(container)) {
    return undefined();
  }
  if (container.is_unknown()) {
    return undecided(container);
  }
  if (const std::string* text = container.if_string()) {
    if (item.is_unknown()) {
      return undecided(item);
    }
    return item.if_string() ? Value(text->find(*item.if_string()) != std::string::npos)
                            : bad_type("only a string can be in a string");
  }
  Value result = false;
  if (const Map* map = container.if_map()) {
    for (const auto& [key, value] : *map) {
      result = either(result, equal(item, Value(key)));
    }
    return result;
  }
  const List* list = container.if_list();
  if (!list) {
    return container.is_null() ? undefined() : bad_type("not a container");
  }
  if (item.is_unknown() && !holds_unknown(container)) {
    if (std::find(list->begin(), list->end(), Value()) == list->end() && list->empty()) {
      return false;
    }
    const auto inside = [&](const Value& v) {
      return std::find(list->begin(), list->end(), v) != list->end();
    };
    return decide(item, inside);
  }
  for (const Value& element : *list) {
    result = either(result, equal(item, element));
  }
  return result;
}

// a <= b of sets: every item of a is in b. An item that is certainly missing decides.
Value subset(Op op, const Value& a, const Value& b) {
  if (op == Op::gt || op == Op::ge) {
    return subset(op == Op::gt ? Op::lt : Op::le, b, a);
  }
  for (const Value* side : {&a, &b}) {
    if (!side->if_list()) {
      return side->is_null()      ? undefined()
             : side->is_unknown() ? derived(*side)
                                  : bad_type("not a set");
    }
  }
  Value all = true;
  for (const Value& item : *a.if_list()) {
    const Value inside = contains(item, b);
    if (!inside.is_unknown() && !truthy(inside)) {
      return false;
    }
    all = inside.is_unknown() ? inside : all;
  }
  const bool proper =
      op == Op::lt && !all.is_unknown() && a.if_list()->size() == b.if_list()->size();
  return proper ? Value(false) : all;
}

Value arithmetic(Op op, const Value& a, const Value& b) {
  if (is_undefined(a) || is_undefined(b) || a.is_null() || b.is_null()) {
    return undefined();
  }
  if (a.is_unknown() || b.is_unknown()) {
    return map_domain(a.is_unknown() ? a : b, [&](const Value& v) {
      return a.is_unknown() ? (b.is_unknown() ? a : arithmetic(op, v, b)) : arithmetic(op, a, v);
    });
  }
  if (op == Op::add && a.if_string() && b.if_string()) {
    return *a.if_string() + *b.if_string();
  }
  if (op == Op::add && a.if_list() && b.if_list()) {
    List out = *a.if_list();
    out.insert(out.end(), b.if_list()->begin(), b.if_list()->end());
    return out;
  }
  if (op == Op::sub && a.if_list() && b.if_list()) {  // of sets
    List out;
    for (const Value& item : *a.if_list()) {
      if (std::find(b.if_list()->begin(), b.if_list()->end(), item) == b.if_list()->end()) {
        out.push_back(item);
      }
    }
    return out;
  }
  if (op == Op::mul && a.if_list() && b.if_integer() && *b.if_integer() < 100'000) {
    List out;
    for (std::int64_t i = 0; i < *b.if_integer() && out.size() < 100'000; ++i) {
      out.insert(out.end(), a.if_list()->begin(), a.if_list()->end());
    }
    return out;
  }
  if (!a.is_number() || !b.is_number()) {
    return bad_type("arithmetic needs numbers");
  }
  return a.if_double() || b.if_double() || op == Op::div ? real(op, a.number(), b.number())
                                                         : whole(op, as_int(a), as_int(b));
}

Value set_operation(Op op, const Value& a, const Value& b) {
  if (is_undefined(a) || is_undefined(b) || a.is_null() || b.is_null()) {
    return undefined();
  }
  if (holds_unknown(a) || holds_unknown(b)) {
    return a.is_unknown()   ? derived(a)
           : b.is_unknown() ? derived(b)
                            : unknown(Reason::dynamic, "part of a list");
  }
  if (!a.if_list() || !b.if_list()) {
    if (a.if_bool() && b.if_bool()) {
      return op == Op::bit_and ? (*a.if_bool() && *b.if_bool()) : (*a.if_bool() || *b.if_bool());
    }
    return bad_type("needs two sets");
  }
  List out = op == Op::bit_or ? *a.if_list() : List{};
  for (const Value& item : *b.if_list()) {
    const bool in_a =
        std::find(a.if_list()->begin(), a.if_list()->end(), item) != a.if_list()->end();
    if (in_a == (op == Op::bit_and)) {
      out.push_back(item);
    }
  }
  return out;
}

Value subscript(const Value& object, const Value& index) {
  if (is_undefined(object) || is_undefined(index)) {
    return undefined();
  }
  if (object.is_unknown() || index.is_unknown()) {
    return derived(object.is_unknown() ? object : index);
  }
  if (object.if_map()) {
    return call_method("get", object, std::span<const Value>(&index, 1));
  }
  const std::string* text = object.if_string();
  const List* list = object.if_list();
  if ((!list && !text) || !index.if_integer()) {
    return object.is_null() ? undefined() : bad_type("cannot be indexed");
  }
  const auto size = static_cast<std::int64_t>(list ? list->size() : text->size());
  const std::int64_t at = *index.if_integer() + (*index.if_integer() < 0 ? size : 0);
  if (at < 0 || at >= size) {
    return bad_type("index out of range");
  }
  const auto i = static_cast<std::size_t>(at);
  return list ? (*list)[i] : Value(std::string(1, (*text)[i]));
}

Value slice(const Value& object, const Value& first, const Value& last) {
  for (const Value* v : {&object, &first, &last}) {
    if (v->is_unknown()) {
      return derived(*v);
    }
  }
  const std::string* text = object.if_string();
  const List* list = object.if_list();
  if (!list && !text) {
    return object.is_null() ? undefined() : bad_type("cannot be sliced");
  }
  const auto size = static_cast<std::int64_t>(list ? list->size() : text->size());
  const auto bound = [&](const Value& v, std::int64_t open) {
    const std::int64_t at = v.if_integer() ? *v.if_integer() : open;
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t begin = bound(first, 0), end = std::max(begin, bound(last, size));
  if (list) {
    return List(list->begin() + begin, list->begin() + end);
  }
  return text->substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

Value attribute(const Value& object, std::string_view name) {
  if (object.is_unknown()) {
    return derived(object);
  }
  if (!object.if_map()) {
    return {};  // a missing attribute reads as null
  }
  const Value field(name);
  return call_method("get", object, std::span<const Value>(&field, 1));
}

}  // namespace shardlint::rules
