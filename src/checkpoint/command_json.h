#pragma once
// The JSON of inspect and diff. Keys are stable; new ones may be added.

#include <span>
#include <string>

#include "checkpoint/inspect.h"
#include "shardlint/checkpoint.h"

namespace shardlint::checkpoint {

std::string to_json(const CheckpointSummary& summary);
std::string to_json(std::span<const TensorStatistics> statistics);
std::string to_json(std::span<const TensorDifference> differences);

}  // namespace shardlint::checkpoint
