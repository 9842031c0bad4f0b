#pragma once
// The expression language of rules: Python's expressions over configuration keys, without
// statements, assignment or anything that could ask whether a value is known. docs/expressions.md
// is the manual. An expression is parsed once, when the rules are compiled, into a flat array of
// nodes that is read in place at start.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::rules {

enum class Op : std::uint8_t {
  null_,
  true_,
  false_,
  integer,
  real,
  string,  // literals
  key,     // text: a configuration key (dotted)
  local,   // text: a name bound by `let` or by a comprehension
  list,
  set,
  dict,  // kids: items; dict: key, value, key, value ...
  and_,
  or_,
  not_,  // kids: 2, 2, 1
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  in,
  not_in,
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  neg,
  bit_and,
  bit_or,
  ternary,    // kids: condition, then, else
  index,      // kids: object, index
  slice,      // kids: object, begin, end (null_ when open)
  attribute,  // kids: object; text: field of a map
  call,       // text: function; kids: arguments
  method,     // text: method; kids: object, arguments
  generator,  // text: variables joined by ','; kids: element, iterable, condition (true_ when none)
};

struct Node {
  Op op;
  std::uint8_t spare = 0;
  std::uint16_t kid_count = 0;
  std::uint32_t first_kid = 0;            // index into Expr::kids
  std::uint32_t text = 0, text_size = 0;  // range of Expr::strings
  union {
    std::int64_t integer;
    double real;
  };
};
static_assert(sizeof(Node) == 24);

// Views into storage that outlives it (a Pool, or the table inside the executable).
struct Expr {
  std::span<const Node> nodes;          // children before parents; the root is last
  std::span<const std::uint32_t> kids;  // node indices
  std::string_view strings;
  std::string_view source;  // as written, for messages

  bool empty() const { return nodes.empty(); }
  const Node& root() const { return nodes.back(); }
  std::uint32_t root_index() const { return static_cast<std::uint32_t>(nodes.size() - 1); }
  std::string_view text(const Node& node) const {
    return strings.substr(node.text, node.text_size);
  }
  const Node& kid(const Node& node, unsigned i) const { return nodes[kid_index(node, i)]; }
  std::uint32_t kid_index(const Node& node, unsigned i) const { return kids[node.first_kid + i]; }
};

// Owns what expressions and rules loaded from files point into. Addresses are stable.
class Pool {
 public:
  std::string_view keep(std::string text);
  std::span<const Node> keep(std::vector<Node> nodes);
  std::span<const std::uint32_t> keep(std::vector<std::uint32_t> kids);

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<Node>> nodes_;
  std::deque<std::vector<std::uint32_t>> kids_;
};

// A fault in an expression: where in its text, and what.
struct ExprError {
  std::size_t offset = 0;
  std::string message;
};

struct Parsed {
  Expr expr;
  std::vector<ExprError> errors;  // empty when it parsed
};

// `locals`: names bound by `let`. Every other dotted name is a key. A leading segment that names a
// binding (`bindings`: letter -> prefix) is replaced: E.use_x -> critic.megatron.use_x.
struct Binding {
  std::string_view name, prefix;
};
Parsed parse_expr(std::string_view source, std::span<const std::string_view> locals,
                  std::span<const Binding> bindings, Pool& pool);

// Keys that an expression reads, sorted, once each.
std::vector<std::string_view> keys_of(const Expr& expr);

}  // namespace shardlint::rules
