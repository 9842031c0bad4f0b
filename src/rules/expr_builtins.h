#pragma once
// Functions and methods of the expression language. All of them are strict: an unknown argument
// gives an unknown result, unless the known ones already decide it.

#include <span>
#include <string_view>

#include "facts/value.h"

namespace shardlint::rules {

bool is_function(std::string_view name);
bool is_method(std::string_view name);

// Arguments are known and not undefined. A wrong type or number gives unknown(bad_type).
Value call_function(std::string_view name, std::span<const Value> arguments);
Value call_method(std::string_view name, const Value& object, std::span<const Value> arguments);

// Python's bool(): empty and zero values are false.
bool truthy(const Value& value);

// -1, 0, 1 as Python orders numbers, strings and lists; unknown(undefined) for null,
// unknown(bad_type) for what Python refuses to order.
Value order(const Value& a, const Value& b);

Value bad_type(std::string detail);
Value undefined();
bool is_undefined(const Value& value);

}  // namespace shardlint::rules
