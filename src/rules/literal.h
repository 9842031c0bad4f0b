#pragma once
// Values as text that the expression parser reads back.

#include <string>
#include <string_view>

#include "facts/value.h"

namespace shardlint::rules {

std::string literal(const Value& value);
// The value of such a text. Text that is no literal becomes unknown(interpolation): examples write
// "${...}" for what the reader cannot know.
Value from_literal(std::string_view text);

}  // namespace shardlint::rules
