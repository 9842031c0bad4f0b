#pragma once
// A tensor in blocks of bounded size that follow one another in C order.

#include <cstdint>
#include <functional>
#include <span>

#include "checkpoint/bytes.h"

namespace shardlint::checkpoint {

// Calls visit(offsets, sizes) for blocks of at most `most` elements (one element at least) that are
// contiguous in C order and cover the shape once.
void for_each_slab(std::span<const std::int64_t> shape, std::uint64_t most,
                   const std::function<void(const Shape& offsets, const Shape& sizes)>& visit);

}  // namespace shardlint::checkpoint
