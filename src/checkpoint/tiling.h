#pragma once
// Do boxes tile a tensor exactly? In bounds, no two overlapping, and as many elements in all.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "checkpoint/bytes.h"

namespace shardlint::checkpoint {

struct Box {
  std::span<const std::int64_t> offsets, sizes;
};

struct Tiling {
  std::vector<std::size_t> outside;                           // boxes beyond the bounds
  std::vector<std::pair<std::size_t, std::size_t>> overlaps;  // the first few pairs
  std::uint64_t covered = 0, wanted = 0;                      // elements
  bool exact() const { return outside.empty() && overlaps.empty() && covered == wanted; }
};

// Boxes have as many dimensions as the shape. A sweep along the dimension with the most distinct
// starts: n log n for slices, never all pairs unless the boxes really overlap.
Tiling tile(std::span<const std::int64_t> shape, std::span<const Box> boxes);

}  // namespace shardlint::checkpoint
