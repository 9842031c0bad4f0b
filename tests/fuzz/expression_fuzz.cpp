// Any text as an expression of a rule, evaluated over keys whose values the input draws. What must
// hold: a fault lies in the text; more knowledge never reverses an answer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "rules/expr_eval.h"
#include "rules/expr_operators.h"

using namespace shardlint;

namespace {

const Value values[] = {
    {},         false,  true,         0, 1, 8, -3, 0.5, "", "bf16", "optim_grads_params",
    List{1, 2}, List{}, Map{{"a", 1}}};

Unknown hidden(const Value& value, unsigned how) {
  Unknown result{Reason::environment, "$X", {}, how == 1 && !value.is_null(), {}};
  if (how == 2) {
    result.domain = {value, 4, "bf16"};
  }
  return result;
}

// Every key has one value; those that `shown` leaves out are unknown, each in one of three ways.
class Drawn final : public rules::Scope {
 public:
  Drawn(std::uint32_t seed, std::uint32_t shown) : seed_(seed), shown_(shown) {}
  Value key(std::string_view name) override {
    std::uint32_t hash = seed_ ^ 2166136261U;
    for (const char c : name) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    const Value& value = values[hash % std::size(values)];
    return (shown_ >> (hash / 16 % 32)) & 1U ? value : Value(hidden(value, hash / 1024 % 3));
  }
  Value local(std::string_view name) override { return key(name); }
  Value is_instance(std::string_view name, std::string_view) override { return truth(name, "i"); }
  Value written(std::string_view name) override { return truth(name, "w"); }

 private:
  Value truth(std::string_view name, std::string_view kind) {
    const Value value = key(std::string(name).append(kind));
    return value.is_unknown() ? unknown(Reason::machine, "$Y") : Value(value.is_null());
  }
  std::uint32_t seed_, shown_;
};

// Whether `and` and `or` stand only where truth is asked for. With an unknown operand their value
// is told up to truth (`x and false` is false, though Python may give another falsy x).
bool asks_truth(const rules::Expr& expr, std::uint32_t index, bool truth) {
  using rules::Op;
  const rules::Node& node = expr.nodes[index];
  if ((node.op == Op::and_ || node.op == Op::or_) && !truth) {
    return false;
  }
  const std::string_view name = node.op == Op::call ? expr.text(node) : "";
  for (unsigned i = 0; i < node.kid_count; ++i) {
    const bool inherits = node.op == Op::and_ || node.op == Op::or_ || node.op == Op::generator ||
                          (node.op == Op::ternary && i > 0) || name == "any" || name == "all";
    const bool asks = node.op == Op::not_ || (node.op == Op::ternary && i == 0) ||
                      (node.op == Op::generator && i == 2);
    if (!asks_truth(expr, expr.kid_index(node, i), asks || (inherits && truth))) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8 || size > 4096) {
    return 0;
  }
  std::uint32_t seed = 0, shown = 0;
  for (int i = 0; i < 4; ++i) {
    seed = seed << 8 | data[i];
    shown = shown << 8 | data[4 + i];
  }
  const std::string text(reinterpret_cast<const char*>(data + 8), size - 8);
  static constexpr std::string_view locals[] = {"x", "dp"};
  static constexpr rules::Binding bindings[] = {{"E", "critic.megatron"}};
  rules::Pool pool;
  const rules::Parsed parsed = rules::parse_expr(text, locals, bindings, pool);
  for (const rules::ExprError& error : parsed.errors) {
    ensure(error.offset <= text.size(), "a fault outside the text");
  }
  if (!parsed.errors.empty()) {
    return 0;
  }
  rules::keys_of(parsed.expr);
  Drawn less(seed, shown), all(seed, ~0U);
  const Value before = rules::evaluate(parsed.expr, less);
  const Value after = rules::evaluate(parsed.expr, all);
  if (asks_truth(parsed.expr, parsed.expr.root_index(), true) && !before.is_unknown()) {
    ensure(after.is_unknown() || rules::truthy(before) == rules::truthy(after),
           "more knowledge reversed an answer");
  }
  return 0;
}
