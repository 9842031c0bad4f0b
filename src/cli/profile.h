#pragma once
// --profile-rules: where the time of a run went, for people.

#include <span>
#include <string>

#include "shardlint/lint.h"

namespace shardlint {

// Phases, then the rules and rewrites that took most.
std::string profile_text(std::span<const Timing> timings);

}  // namespace shardlint
