#pragma once
// A configuration held against the checkpoint that it would resume from: what the loader refuses,
// what it skips silently. Codes CKD201 and up; the places are the configuration's own.

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/arguments.h"
#include "checkpoint/model.h"
#include "checkpoint/saved_shape.h"
#include "checkpoint/tree.h"
#include "facts/config.h"
#include "shardlint/diagnostic.h"

namespace shardlint::checkpoint {

// What lies at the path, opened once; check() may be called from several threads.
class ResumePoint {
 public:
  // A root of iterations or one iteration. Throws Error when there is no checkpoint.
  explicit ResumePoint(const std::string& path);
  // Keys that are unknown, or absent from an open configuration, decide nothing.
  std::vector<Diagnostic> check(const Config& config) const;

  // One directory with what its job recorded of itself.
  struct Part {
    Checkpoint checkpoint;
    std::optional<SavedArguments> saved;
    RunConfig run_config;
  };

 private:
  Tree tree_;
  std::vector<Part> parts_;
};

}  // namespace shardlint::checkpoint
