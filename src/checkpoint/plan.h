#pragma once
// A configuration held against the checkpoint that it would resume from: what the loader refuses,
// what it skips silently. Codes CKD201 and up; the places are the configuration's own.

#include <string>
#include <vector>

#include "facts/config.h"
#include "shardlint/diagnostic.h"

namespace shardlint::checkpoint {

// `checkpoint` is a root of iterations or one iteration. Throws Error when there is none. Keys that
// are unknown, or absent from an open configuration, decide nothing.
std::vector<Diagnostic> check_plan(const Config& config, const std::string& checkpoint);

}  // namespace shardlint::checkpoint
