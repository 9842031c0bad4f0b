#pragma once
// The compiled form of a RuleSet: one block of bytes inside the executable, read in place. The
// layout is private to this file pair; a block made by another build is refused.

#include <string>
#include <string_view>

#include "rules/rule.h"

namespace shardlint::rules {

std::string pack(const RuleSet& rules);

// Views into `block`, which must be 8-byte aligned and outlive the result. Throws Error when it
// was not made by pack() of this build.
RuleSet unpack(std::string_view block);

// The rules compiled into this executable.
const RuleSet& builtin_rules();

}  // namespace shardlint::rules
