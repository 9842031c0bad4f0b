#include "rules/expr_eval.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/expr_builtins.h"

namespace shardlint::rules {
namespace {

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

// The answer to a question about a value that is not known. The possible values are those of the
// value, not of the answer, and do not go along.
Value undecided(const Value& value) {
  Unknown out = *value.if_unknown();
  out.domain.clear();
  out.not_null = true;
  return out;
}

// A bool when every value of the domain agrees, else undecided.
template <typename Test>
Value decide(const Value& value, Test test) {
  const Unknown& u = *value.if_unknown();
  if (u.domain.empty()) {
    return undecided(value);
  }
  const bool first = test(u.domain.front());
  for (const Value& candidate : u.domain) {
    if (holds_unknown(candidate) || test(candidate) != first) {
      return undecided(value);
    }
  }
  return first;
}

class Evaluator {
 public:
  Evaluator(const Expr& expr, Scope& scope) : expr_(expr), scope_(scope) {}

  Value eval(std::uint32_t index) {
    const Node& node = expr_.nodes[index];
    switch (node.op) {
      case Op::null_:
        return {};
      case Op::true_:
        return true;
      case Op::false_:
        return false;
      case Op::integer:
        return node.integer;
      case Op::real:
        return node.real;
      case Op::string:
        return expr_.text(node);
      case Op::key:
        return scope_.key(expr_.text(node));
      case Op::local:
        return local(expr_.text(node));
      case Op::list:
        return list(node);
      case Op::set:
        return set(node);
      case Op::dict:
        return dict(node);
      case Op::and_:
        return logical(node, false);
      case Op::or_:
        return logical(node, true);
      case Op::not_:
        return negate(truth(kid(node, 0)));
      case Op::eq:
        return equal(kid(node, 0), kid(node, 1));
      case Op::ne:
        return negate(equal(kid(node, 0), kid(node, 1)));
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
        return is_set(node, 0) || is_set(node, 1) ? subset(node.op, kid(node, 0), kid(node, 1))
                                                  : compare(node.op, kid(node, 0), kid(node, 1));
      case Op::in:
        return contains(kid(node, 0), kid(node, 1));
      case Op::not_in:
        return negate(contains(kid(node, 0), kid(node, 1)));
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
      case Op::floordiv:
      case Op::mod:
        return arithmetic(node.op, kid(node, 0), kid(node, 1));
      case Op::neg:
        return arithmetic(Op::sub, 0, kid(node, 0));
      case Op::bit_and:
      case Op::bit_or:
        return set_operation(node.op, kid(node, 0), kid(node, 1));
      case Op::ternary:
        return ternary(node);
      case Op::index:
        return subscript(kid(node, 0), kid(node, 1));
      case Op::slice:
        return slice(kid(node, 0), kid(node, 1), kid(node, 2));
      case Op::attribute:
        return attribute(kid(node, 0), expr_.text(node));
      case Op::call:
        return call(node);
      case Op::method:
        return method(node);
      case Op::generator:
        return generate(node);
    }
    return {};
  }

 private:
  Value kid(const Node& node, unsigned i) { return eval(expr_.kid_index(node, i)); }

  // Sets are lists at run time; what is written as a set says so.
  bool is_set(const Node& node, unsigned i) const {
    const Node& operand = expr_.kid(node, i);
    return operand.op == Op::set || operand.op == Op::bit_and || operand.op == Op::bit_or ||
           (operand.op == Op::call && expr_.text(operand) == "set");
  }

  // a <= b of sets: every item of a is in b. An item that is certainly missing decides.
  static Value subset(Op op, const Value& a, const Value& b) {
    if (op == Op::gt || op == Op::ge) {
      return subset(op == Op::gt ? Op::lt : Op::le, b, a);
    }
    for (const Value* side : {&a, &b}) {
      if (!side->if_list()) {
        return side->is_null() ? undefined() : side->is_unknown() ? *side : bad_type("not a set");
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

  // true, false, or the unknown.
  static Value truth(const Value& value) {
    return value.is_unknown() ? decide(value, truthy) : Value(truthy(value));
  }

  static Value negate(const Value& value) {
    return value.is_unknown() ? value : Value(!truthy(value));
  }

  // `and` and `or` give the deciding operand, as in Python. An unknown left operand leaves the
  // right one to decide; an undefined one ends the evaluation, as the exception does upstream.
  Value logical(const Node& node, bool decider) {
    const Value left = kid(node, 0);
    if (is_undefined(left)) {
      return left;
    }
    const Value left_truth = truth(left);
    if (!left_truth.is_unknown() && truthy(left_truth) == decider) {
      return left;
    }
    const Value right = kid(node, 1);
    if (!left_truth.is_unknown()) {
      return right;
    }
    const Value right_truth = truth(right);
    if (!right_truth.is_unknown() && truthy(right_truth) == decider) {
      return right.if_bool() ? Value(decider) : fallback(left, right, decider);
    }
    // Either way the statement does not hold: false and undefined are both "no violation".
    return is_undefined(right) && !decider ? right : left_truth;
  }

  // `unknown or 1`: one of the left values that do not give way to the right one, or the right one.
  static Value fallback(const Value& left, const Value& right, bool decider) {
    Unknown out = *left.if_unknown();
    std::erase_if(out.domain, [&](const Value& v) { return truthy(v) != decider; });
    if (!out.domain.empty()) {
      out.domain.push_back(right);
    }
    out.not_null = decider && !right.is_null();
    return out;
  }

  static Value equal(const Value& a, const Value& b) {
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

  static Value compare(Op op, const Value& a, const Value& b) {
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

  static Value contains(const Value& item, const Value& container) {
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

  static Value either(const Value& a, const Value& b) {
    if (!a.is_unknown() && truthy(a)) {
      return true;
    }
    return b.is_unknown() || truthy(b) ? b : a;
  }

  static Value arithmetic(Op op, const Value& a, const Value& b) {
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

  static std::int64_t as_int(const Value& v) {
    return v.if_integer() ? *v.if_integer() : static_cast<std::int64_t>(v.number());
  }

  static Value real(Op op, double a, double b) {
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
  static Value whole(Op op, std::int64_t a, std::int64_t b) {
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

  // f over the domain of an unknown: the result is unknown with the images as its domain.
  template <typename F>
  static Value map_domain(const Value& value, F f) {
    const Unknown& u = *value.if_unknown();
    Unknown out{u.reason, u.detail, u.where, true, {}};
    for (const Value& candidate : u.domain) {
      const Value image = f(candidate);
      if (image.is_unknown()) {
        out.domain.clear();
        break;
      }
      out.domain.push_back(image);
    }
    return out;
  }

  static Value set_operation(Op op, const Value& a, const Value& b) {
    if (is_undefined(a) || is_undefined(b) || a.is_null() || b.is_null()) {
      return undefined();
    }
    if (holds_unknown(a) || holds_unknown(b)) {
      return a.is_unknown() ? a : b.is_unknown() ? b : unknown(Reason::dynamic, "part of a list");
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

  Value ternary(const Node& node) {
    const Value condition = truth(kid(node, 0));
    if (is_undefined(condition)) {
      return condition;
    }
    if (!condition.is_unknown()) {
      return kid(node, truthy(condition) ? 1 : 2);
    }
    const Value a = kid(node, 1), b = kid(node, 2);
    if (!holds_unknown(a) && !holds_unknown(b)) {
      if (a == b) {
        return a;
      }
      Unknown out = *condition.if_unknown();
      out.domain = {a, b};
      out.not_null = !a.is_null() && !b.is_null();
      return out;
    }
    return condition;
  }

  static Value subscript(const Value& object, const Value& index) {
    if (is_undefined(object) || is_undefined(index)) {
      return undefined();
    }
    if (object.is_unknown() || index.is_unknown()) {
      return object.is_unknown() ? object : index;
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

  static Value slice(const Value& object, const Value& first, const Value& last) {
    for (const Value* v : {&object, &first, &last}) {
      if (v->is_unknown()) {
        return *v;
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

  static Value attribute(const Value& object, std::string_view name) {
    if (object.is_unknown()) {
      return object;
    }
    if (!object.if_map()) {
      return {};  // a missing attribute reads as null
    }
    const Value field(name);
    return call_method("get", object, std::span<const Value>(&field, 1));
  }

  Value list(const Node& node) {
    List out;
    for (unsigned i = 0; i < node.kid_count; ++i) {
      if (expr_.kid(node, i).op == Op::generator) {
        return kid(node, i);
      }
      out.push_back(kid(node, i));
    }
    return out;
  }

  Value set(const Node& node) {
    const Value items = list(node);
    return items.is_unknown() || holds_unknown(items)
               ? items
               : call_function("set", std::span<const Value>(&items, 1));
  }

  Value dict(const Node& node) {
    Map out;
    for (unsigned i = 0; i + 1 < node.kid_count; i += 2) {
      const Value key = kid(node, i);
      if (key.is_unknown()) {
        return key;
      }
      out.emplace_back(key.text(), kid(node, i + 1));
    }
    return out;
  }

  Value local(std::string_view name) {
    for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
      if (it->first == name) {
        return it->second;
      }
    }
    return scope_.local(name);
  }

  // Calls `visit` for each element that passes the condition; an unknown condition makes the
  // element unknown. Returns an unknown when the iterable is one.
  template <typename Visit>
  Value walk(const Node& node, Visit visit) {
    Value iterable = kid(node, 1);
    if (iterable.if_map() || iterable.if_string()) {
      iterable = call_function("list", std::span<const Value>(&iterable, 1));
    }
    if (!iterable.if_list()) {
      return iterable.is_null()      ? undefined()
             : iterable.is_unknown() ? iterable
                                     : bad_type("cannot be iterated");
    }
    const auto names = split(expr_.text(node), ',');
    for (const Value& item : *iterable.if_list()) {
      const std::size_t mark = variables_.size();
      const List* parts = item.if_list();
      for (std::size_t i = 0; i < names.size(); ++i) {
        const bool unpack = names.size() > 1;
        variables_.emplace_back(std::string(names[i]), !unpack ? item
                                                       : parts && i < parts->size()
                                                           ? (*parts)[i]
                                                           : bad_type("cannot be unpacked"));
      }
      const Value condition = truth(kid(node, 2));
      bool go_on = true;
      if (condition.is_unknown() || truthy(condition)) {
        const Value element = kid(node, 0);
        go_on = visit(condition.is_unknown() ? condition : element, element);
      }
      variables_.resize(mark);
      if (!go_on) {
        break;
      }
    }
    return {};
  }

  Value generate(const Node& node) {
    List out;
    const Value fault = walk(node, [&](const Value& value, const Value&) {
      out.push_back(value);
      return true;
    });
    return fault.is_unknown() ? fault : Value(std::move(out));
  }

  // any() and all(): one deciding element is enough, whatever the others are.
  Value quantify(const Node& node, bool decider) {
    Value result = !decider;
    const auto visit = [&](const Value& value) {
      const Value t = truth(value);
      if (is_undefined(t)) {
        result = t;
        return false;
      }
      if (t.is_unknown()) {
        result = t;
      } else if (truthy(t) == decider) {
        result = decider;
        return false;
      }
      return true;
    };
    const Node& argument = expr_.kid(node, 0);
    if (argument.op == Op::generator) {
      const Value fault =
          walk(argument, [&](const Value& value, const Value&) { return visit(value); });
      return fault.is_unknown() ? fault : result;
    }
    const Value items = kid(node, 0);
    if (!items.if_list()) {
      return items.is_unknown() ? items : bad_type("cannot be iterated");
    }
    for (const Value& item : *items.if_list()) {
      if (!visit(item)) {
        break;
      }
    }
    return result;
  }

  Value call(const Node& node) {
    const std::string_view name = expr_.text(node);
    if ((name == "any" || name == "all") && node.kid_count == 1) {
      return quantify(node, name == "any");
    }
    if (name == "isinstance" && node.kid_count == 2) {
      return is_instance(node);
    }
    if (name == "explicit" && node.kid_count == 1 && expr_.kid(node, 0).op == Op::key) {
      return scope_.written(expr_.text(expr_.kid(node, 0)));
    }
    if (name == "hasattr" && node.kid_count == 2 && expr_.kid(node, 0).op == Op::key) {
      const Value field = kid(node, 1);
      const std::string path = std::string(expr_.text(expr_.kid(node, 0))) + "." + field.text();
      const Value value = scope_.key(path);
      return value.is_unknown() ? value : Value(!value.is_null());
    }
    std::vector<Value> arguments;
    for (unsigned i = 0; i < node.kid_count; ++i) {
      arguments.push_back(kid(node, i));
      if (is_undefined(arguments.back())) {
        return undefined();
      }
    }
    for (const Value& argument : arguments) {
      if (argument.is_unknown()) {
        return arguments.size() == 1
                   ? map_domain(argument,
                                [&](const Value& v) {
                                  return call_function(name, std::span<const Value>(&v, 1));
                                })
                   : argument;
      }
      if (holds_unknown(argument) && name != "len") {
        return unknown(Reason::dynamic, "part of the value is not known");
      }
    }
    return call_function(name, arguments);
  }

  // isinstance(section, Class), isinstance(section, (A, B)) or isinstance(value, int).
  Value is_instance(const Node& node) {
    std::vector<std::string_view> classes;
    const Node& second = expr_.kid(node, 1);
    if (second.op == Op::list || second.op == Op::set) {
      for (unsigned i = 0; i < second.kid_count; ++i) {
        classes.push_back(expr_.text(expr_.kid(second, i)));
      }
    } else {
      classes.push_back(expr_.text(second));
    }
    Value result = false;
    for (const std::string_view name : classes) {
      result = either(result, one_instance(node, name));
    }
    return result;
  }

  Value one_instance(const Node& node, std::string_view name) {
    static constexpr std::string_view plain[] = {"bool", "int", "float", "str", "list", "dict"};
    const bool tuple = name == "tuple" || name == "Sequence";
    if (tuple || std::find(std::begin(plain), std::end(plain), name) != std::end(plain)) {
      const Value value = kid(node, 0);
      const auto test = [&](const Value& v) {
        const std::string type = call_function("type", std::span<const Value>(&v, 1)).text();
        return type == (tuple ? "list" : name) || (name == "int" && type == "bool");
      };
      return value.is_unknown() ? decide(value, test) : Value(test(value));
    }
    const Node& first = expr_.kid(node, 0);
    return first.op == Op::key ? scope_.is_instance(expr_.text(first), name)
                               : bad_type("isinstance needs a key");
  }

  Value method(const Node& node) {
    const Value object = kid(node, 0);
    std::vector<Value> arguments;
    for (unsigned i = 1; i < node.kid_count; ++i) {
      arguments.push_back(kid(node, i));
      if (arguments.back().is_unknown()) {
        return arguments.back();
      }
    }
    const std::string_view name = expr_.text(node);
    if (object.is_unknown()) {
      return is_undefined(object) ? object : map_domain(object, [&](const Value& v) {
        return call_method(name, v, arguments);
      });
    }
    return call_method(name, object, arguments);
  }

  const Expr& expr_;
  Scope& scope_;
  std::vector<std::pair<std::string, Value>> variables_;
};

}  // namespace

Value evaluate(const Expr& expr, Scope& scope) {
  return expr.empty() ? Value() : Evaluator(expr, scope).eval(expr.root_index());
}

}  // namespace shardlint::rules
