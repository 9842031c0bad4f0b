#pragma once
// A value of a configuration as far as it can be known without running anything.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "source/source.h"

namespace shardlint {

class Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<std::string, Value>>;  // in the order written

// Why a value cannot be known. The first word of the reason codes that users see.
enum class Reason {
  absent,         // not set here, and this input may be completed by another
  environment,    // an environment variable that was not given
  interpolation,  // ${...} whose target is not in reach
  argument,       // positional parameter, function argument
  command,        // output of a command
  dynamic,        // code that is not evaluated
  opaque,         // an object whose fields the program fills (a model provider)
  sourced,        // a file that is not there
  branch,         // depends on a condition that is unknown
  machine,        // world size, GPU, installed versions
  bad_type,       // a value of a type that upstream would refuse
  undefined,      // arithmetic or ordering with null: the statement does not apply
  limit,          // a guard (depth, size, steps) stopped the evaluation
};
std::string_view reason_name(Reason reason);  // as in the JSON output: "env", "fragment", ...

struct Unknown {
  Reason reason = Reason::dynamic;
  std::string detail;     // what could not be known: "$HOME", "${oc.env:X}", "AutoBridge.from_hf"
  Span where;             // the piece of source that is unknown
  bool not_null = false;  // certainly not None
  std::vector<Value> domain;  // if not empty: the value is one of these
};

// null | bool | integer | float | string | list | map | unknown. Cheap to copy.
// Enum members and dtypes are strings ("bfloat16").
class Value {
 public:
  Value() = default;  // null
  Value(bool v) : data_(v) {}
  Value(std::int64_t v) : data_(v) {}
  Value(int v) : data_(static_cast<std::int64_t>(v)) {}
  Value(double v) : data_(v) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(const char* v) : data_(std::string(v)) {}
  Value(List v) : data_(std::make_shared<const List>(std::move(v))) {}
  Value(Map v) : data_(std::make_shared<const Map>(std::move(v))) {}
  Value(Unknown v) : data_(std::make_shared<const Unknown>(std::move(v))) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_unknown() const { return std::holds_alternative<std::shared_ptr<const Unknown>>(data_); }
  bool is_number() const { return if_integer() || if_double() || if_bool(); }

  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  const std::int64_t* if_integer() const { return std::get_if<std::int64_t>(&data_); }
  const double* if_double() const { return std::get_if<double>(&data_); }
  const std::string* if_string() const { return std::get_if<std::string>(&data_); }
  const List* if_list() const { return get<List>(); }
  const Map* if_map() const { return get<Map>(); }
  const Unknown* if_unknown() const { return get<Unknown>(); }

  // As a number, Python's way: True is 1. NaN when it is none.
  double number() const;
  // As the user would recognise it: null, true, 8, 0.1, text, [a, b], {k: v}, <unknown: reason>.
  std::string text() const;
  // Python's ==: 1 == 1.0 == True, null only equals null. Unknowns are equal to nothing.
  bool operator==(const Value& other) const;

 private:
  template <typename T>
  const T* get() const {
    const auto* p = std::get_if<std::shared_ptr<const T>>(&data_);
    return p ? p->get() : nullptr;
  }
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Map>, std::shared_ptr<const Unknown>>
      data_;
};

inline Value unknown(Reason reason, std::string detail, Span where = {}) {
  return Unknown{reason, std::move(detail), where, false, {}};
}

}  // namespace shardlint
