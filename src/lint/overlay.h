#pragma once
// What the user says besides the files: --set, --env, --world-size, --gpu, --target. Laid over
// every configuration as its last layer.

#include <string>
#include <string_view>

#include "facts/config.h"
#include "shardlint/lint.h"

namespace shardlint {

// Throws Error when an option cannot be read.
Facts overlay(const Options& options, std::string_view framework);

// The version asked for, or empty: the newest is meant.
std::string target_version(const Options& options, std::string_view framework);

// Compute capability of a GPU by name ("H100", "sm_90", "9.0"); nothing when it is not known.
struct ComputeCapability {
  int major = 0, minor = 0;
};
std::optional<ComputeCapability> compute_capability(std::string_view gpu);

}  // namespace shardlint
