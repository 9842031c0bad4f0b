#pragma once
// The compiled form of a RuleSet: one block of bytes inside the executable, read in place. The
// layout is private to this file pair; a block made by another build is refused.

#include <string>
#include <string_view>

#include "rules/rule.h"

namespace shardlint::rules {

std::string pack(const RuleSet& rules);

// Views into `block`, which must be 8-byte aligned and outlive the result. Throws Error when it
// was not made by pack() of this build. The examples are left out: they are compressed, and only
// tests and explanations want them.
RuleSet unpack(std::string_view block);

// Gives unpacked rules their examples. What is returned holds their text and must outlive them.
std::string unpack_examples(std::string_view block, RuleSet& rules);

// The rules compiled into this executable, without their examples and with them.
const RuleSet& builtin_rules();
const RuleSet& builtin_rules_with_examples();

}  // namespace shardlint::rules
