#pragma once
// Three-valued evaluation. More knowledge never reverses an answer: an unknown operand gives an
// unknown result unless the known operands already decide.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/value.h"
#include "rules/expr.h"

namespace shardlint::rules {

// What an expression can see.
class Scope {
 public:
  virtual ~Scope() = default;
  // The value of a key in force now; `name` outlives the scope, which may keep it. Unknown values
  // carry their reason and domain.
  virtual Value key(std::string_view name) = 0;
  // The value of `section.field`, a name that was put together and need not outlive the call.
  virtual Value field(std::string_view section, std::string_view name) {
    return key(std::string(section).append(".").append(name));
  }
  // A name bound by `let`.
  virtual Value local(std::string_view name) = 0;
  // Whether the section at `key` is an object of the class or of one derived from it.
  virtual Value is_instance(std::string_view key, std::string_view class_name) = 0;
  // Whether the user wrote the key (not a default, not a step of the program).
  virtual Value written(std::string_view key) = 0;
};

Value evaluate(const Expr& expr, Scope& scope);

}  // namespace shardlint::rules
