#pragma once
// One directory (or file) as a checkpoint: which format it is, and what it holds. Reads names,
// descriptions and headers only. Damage becomes findings of the result.

#include <string>

#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// As upstream detects it, in the same order.
Format detect_format(const std::string& directory);

// Throws Error when there is no such directory or file.
Checkpoint open_checkpoint(const std::string& path);

}  // namespace shardlint::checkpoint
