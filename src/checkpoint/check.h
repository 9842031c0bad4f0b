#pragma once
// All checks of everything that lies at a path.

#include <string>
#include <vector>

#include "checkpoint/fault.h"
#include "shardlint/checkpoint.h"

namespace shardlint::checkpoint {

struct CheckResult {
  std::vector<Finding> findings;
  std::uint64_t bytes_read = 0;  // of values
  std::size_t parts = 0, tensors = 0;
};
CheckResult check_path(const std::string& path, const CheckpointOptions& options);

}  // namespace shardlint::checkpoint
