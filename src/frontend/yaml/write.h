#pragma once
// Values as YAML text that its reader will take for the same values.

#include <string>
#include <string_view>

#include "facts/value.h"
#include "frontend/yaml/scalar.h"

namespace shardlint::yaml {

// `like`: the scalar that is replaced, for its quotes and its way to write booleans; may be null.
// Unknown values have no text: empty.
std::string write_value(const Value& value, Mode mode, const Node* like = nullptr);

}  // namespace shardlint::yaml
