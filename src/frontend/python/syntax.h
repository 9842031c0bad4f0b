#pragma once
// The syntax of one Python file, lowered from tree-sitter's tree to the nodes that the evaluation
// walks: one tag a construct, children in a fixed order, names interned.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "facts/value.h"
#include "source/source.h"

namespace shardlint::python {

// An interned identifier: equal names are equal numbers. 0 is "no name".
using Name = std::uint32_t;

// The names of a run. Safe to share between threads.
class NameTable {
 public:
  NameTable();
  ~NameTable();
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  Name intern(std::string_view text);
  std::string_view text(Name name) const;

 private:
  // Blocks that never move, each twice the size of the one before, so that reading takes no lock.
  static constexpr unsigned first_bits = 10;
  static constexpr std::size_t blocks = 32 - first_bits;
  std::mutex mutex_;
  std::array<std::atomic<std::string*>, blocks> blocks_{};
  std::unordered_map<std::string_view, Name> index_;
};

// One thread's way to a table of names.
class Names {
 public:
  Names() : Names(std::make_shared<NameTable>()) {}
  explicit Names(std::shared_ptr<NameTable> table) : table_(std::move(table)) {}
  Name intern(std::string_view text);
  std::string_view text(Name name) const { return table_->text(name); }

 private:
  std::shared_ptr<NameTable> table_;
  std::unordered_map<std::string_view, Name> index_;  // what was asked before, without a lock
};

// Children of each tag, in order; "?" may be null.
enum class Tag : std::uint8_t {
  constant,       // value
  name,           // name
  attribute,      // object; name
  call,           // function, arguments...
  keyword,        // value; name; `text` is the name as written
  star,           // value
  double_star,    // value
  subscript,      // value, index (a tuple when there are several)
  slice,          // low?, high?, step?
  fstring,        // parts: constants and interpolations
  interpolation,  // value; text is the conversion and format, empty when plain
  tuple,
  list,
  set,
  dict,           // pairs and double_stars
  pair,           // key, value
  unary,          // value; op
  binary,         // left, right; op
  boolean,        // left, right; op and_ | or_
  compare,        // operands; text holds the operators, one byte (Op) each
  conditional,    // value, test, otherwise
  lambda,         // parameters, body
  comprehension,  // element or pair, then comp_for and comp_if in order; op: what it makes
  comp_for,       // target, iterable
  comp_if,        // test
  named,          // value; name (:=)
  opaque,         // anything else: await, yield, what could not be parsed; children evaluated

  block,
  expression,   // value
  assign,       // value, targets...
  annotated,    // value?, target; text is the annotation
  augmented,    // target, value; op
  return_,      // value?
  if_,          // test, body, otherwise?
  for_,         // target, iterable, body, otherwise?
  while_,       // test, body, otherwise?
  try_,         // body, otherwise?, finally?, handlers...
  handler,      // type?, body; name
  with_,        // body, items...
  with_item,    // value, target?
  function,     // parameters, body, decorators...; name; text is the return annotation
  parameters,   // parameter...
  parameter,    // default?; name; op plain | star | double_star | marker; text is the annotation
  class_,       // body, arguments (a tuple), decorators...; name
  import,       // alias...
  import_from,  // alias...; text is the module without dots; level
  alias,        // name is what is bound, text what is imported ("*" for everything)
  global,       // names...
  delete_,      // targets...
  raise_,       // value?
  assert_,      // value
  break_,
  continue_,
  pass,
  unread,  // a statement that is not understood, or does not parse
};

enum class Op : std::uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  matrix,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  negate,
  plus,
  invert,
  not_,
  and_,
  or_,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  is,
  is_not,
  in,
  not_in,
  // parameters, comprehensions
  plain,
  star,
  double_star,
  marker_positional,
  marker_keyword,
  list,
  set,
  dict,
  generator,
};

struct Node {
  Tag tag;
  Op op = Op::none;
  std::uint16_t level = 0;  // dots of a relative import; of a function: 1 when it yields
  std::uint32_t begin = 0, end = 0;
  Name name = 0;
  std::string_view text;
  const Value* value = nullptr;  // of a constant
  std::pmr::vector<const Node*> kids;

  explicit Node(Tag t, std::pmr::memory_resource* memory) : tag(t), kids(memory) {}
  const Node* kid(std::size_t i) const { return i < kids.size() ? kids[i] : nullptr; }
};

// Owns the nodes of one file; the source outlives it.
class Syntax {
 public:
  explicit Syntax(const Source& source) : source_(&source) {}
  Syntax(const Syntax&) = delete;
  Syntax& operator=(const Syntax&) = delete;
  ~Syntax();

  const Source& source() const { return *source_; }
  const Node* root() const { return root_; }  // a block
  Span span(const Node& node) const { return {source_, node.begin, node.end}; }

  Node* make(Tag tag, std::uint32_t begin, std::uint32_t end);
  const Value* keep(Value value) { return &constants_.emplace_back(std::move(value)); }
  std::string_view keep_text(std::string text) { return texts_.emplace_back(std::move(text)); }
  void set_root(const Node* root) { root_ = root; }

 private:
  const Source* source_;
  const Node* root_ = nullptr;
  std::pmr::monotonic_buffer_resource memory_;
  std::deque<Value> constants_;
  std::deque<std::string> texts_;
};

}  // namespace shardlint::python
