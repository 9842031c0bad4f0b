#pragma once
// The pickle of .metadata: the layout that every torch since 2.3 loads.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/writer.h"

namespace shardlint::checkpoint {

struct WrittenPiece {
  std::string file;
  std::uint64_t offset = 0, length = 0;
};

// Pieces in the order of plan.shards; objects likewise.
std::string metadata_pickle(const WritePlan& plan, std::span<const WrittenPiece> shards,
                            std::span<const WrittenPiece> objects,
                            const std::string& checkpoint_id);

}  // namespace shardlint::checkpoint
