#include "checkpoint/slabs.h"

#include <algorithm>

namespace shardlint::checkpoint {

void for_each_slab(std::span<const std::int64_t> shape, std::uint64_t most,
                   const std::function<void(const Shape& offsets, const Shape& sizes)>& visit) {
  if (volume(shape).value_or(0) == 0) {
    return;
  }
  Shape offsets(shape.size(), 0), sizes(shape.begin(), shape.end());
  // The first dimension below which everything fits into a slab is cut; those before it are walked
  // one by one.
  std::uint64_t below = 1;
  std::size_t axis = shape.size();
  while (axis > 0 && below * static_cast<std::uint64_t>(shape[axis - 1]) <= most) {
    below *= static_cast<std::uint64_t>(shape[--axis]);
  }
  if (axis == 0) {
    visit(offsets, sizes);
    return;
  }
  const std::size_t cut = axis - 1;
  const auto step = static_cast<std::int64_t>(std::max<std::uint64_t>(1, most / below));
  std::fill(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(cut), 1);
  for (;;) {
    for (offsets[cut] = 0; offsets[cut] < shape[cut]; offsets[cut] += step) {
      sizes[cut] = std::min(step, shape[cut] - offsets[cut]);
      visit(offsets, sizes);
    }
    std::size_t d = cut;
    while (d > 0 && ++offsets[d - 1] == shape[d - 1]) {
      offsets[--d] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

}  // namespace shardlint::checkpoint
