#include "rules/expr_eval.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/expr_builtins.h"
#include "rules/expr_operators.h"

namespace shardlint::rules {
namespace {

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
    return is_undefined(right) && !decider ? right : derived(left_truth);
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
    return derived(condition);
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
        return derived(key);
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
             : iterable.is_unknown() ? derived(iterable)
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
      return items.is_unknown() ? derived(items) : bad_type("cannot be iterated");
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
      const Value value = scope_.field(expr_.text(expr_.kid(node, 0)), field.text());
      return value.is_unknown() ? decide(value, [](const Value& v) { return !v.is_null(); })
                                : Value(!value.is_null());
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
                   : derived(argument);
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

  // {...}.get(x) of a table that a rule writes out: only the entry that is asked for is made.
  std::optional<Value> from_table(const Node& node, std::string_view name) {
    const Node& table = expr_.nodes[expr_.kid_index(node, 0)];
    if (name != "get" || table.op != Op::dict || node.kid_count < 2) {
      return std::nullopt;
    }
    const Value wanted = kid(node, 1);
    if (wanted.is_unknown()) {
      return std::nullopt;
    }
    for (unsigned i = 0; i + 1 < table.kid_count; i += 2) {
      const Value key = kid(table, i);
      if (key.is_unknown()) {
        return std::nullopt;
      }
      if (Value(key.text()) == wanted) {
        return kid(table, i + 1);
      }
    }
    return node.kid_count > 2 ? kid(node, 2) : Value();
  }

  Value method(const Node& node) {
    const std::string_view name = expr_.text(node);
    if (std::optional<Value> entry = from_table(node, name)) {
      return *std::move(entry);
    }
    const Value object = kid(node, 0);
    std::vector<Value> arguments;
    for (unsigned i = 1; i < node.kid_count; ++i) {
      arguments.push_back(kid(node, i));
      if (arguments.back().is_unknown()) {
        return derived(arguments.back());
      }
    }
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
