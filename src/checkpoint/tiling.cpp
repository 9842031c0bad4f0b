#include "checkpoint/tiling.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace shardlint::checkpoint {
namespace {

constexpr std::size_t most_overlaps = 8;
constexpr std::size_t most_comparisons = 50'000'000;

bool meet(const Box& a, const Box& b) {
  for (std::size_t d = 0; d < a.offsets.size(); ++d) {
    if (a.offsets[d] >= b.offsets[d] + b.sizes[d] || b.offsets[d] >= a.offsets[d] + a.sizes[d]) {
      return false;
    }
  }
  return true;
}

bool inside(std::span<const std::int64_t> shape, const Box& box) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (box.offsets[d] < 0 || box.sizes[d] < 0 || box.offsets[d] > shape[d] ||
        box.sizes[d] > shape[d] - box.offsets[d]) {
      return false;
    }
  }
  return true;
}

// True when the boxes are the cells of a grid: each dimension cut at the same places everywhere,
// each cell once. That is how tensor and expert parallelism shard, and it needs no comparisons.
bool is_grid(std::span<const std::int64_t> shape, std::span<const Box> boxes,
             const std::vector<std::size_t>& live) {
  std::vector<std::vector<std::int64_t>> cuts(shape.size());
  std::uint64_t cells = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (const std::size_t i : live) {
      cuts[d].push_back(boxes[i].offsets[d]);
    }
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
    const auto product = checked_mul(cells, cuts[d].size());
    if (!product || *product > live.size()) {
      return false;
    }
    cells = *product;
  }
  if (cells != live.size()) {
    return false;
  }
  std::vector<bool> taken(live.size());
  for (const std::size_t i : live) {
    std::size_t cell = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto at = std::lower_bound(cuts[d].begin(), cuts[d].end(), boxes[i].offsets[d]);
      const std::int64_t next = at + 1 == cuts[d].end() ? shape[d] : at[1];
      if (boxes[i].offsets[d] + boxes[i].sizes[d] > next) {
        return false;
      }
      cell = cell * cuts[d].size() + static_cast<std::size_t>(at - cuts[d].begin());
    }
    if (taken[cell]) {
      return false;
    }
    taken[cell] = true;
  }
  return true;
}

}  // namespace

Tiling tile(std::span<const std::int64_t> shape, std::span<const Box> boxes) {
  Tiling result;
  result.wanted = volume(shape).value_or(0);
  std::vector<std::size_t> live;  // boxes of some volume
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!inside(shape, boxes[i])) {
      result.outside.push_back(i);
      continue;
    }
    const std::uint64_t elements = volume(boxes[i].sizes).value_or(0);
    result.covered += elements;
    if (elements != 0) {
      live.push_back(i);
    }
  }
  if (live.size() < 2 || is_grid(shape, boxes, live)) {
    return result;
  }
  if (shape.empty()) {
    for (std::size_t k = 1; k < live.size() && result.overlaps.size() < most_overlaps; ++k) {
      result.overlaps.emplace_back(live[0], live[k]);
    }
    return result;
  }
  std::size_t axis = 0, most = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::set<std::int64_t> starts;
    for (const std::size_t i : live) {
      starts.insert(boxes[i].offsets[d]);
    }
    if (starts.size() > most) {
      most = starts.size();
      axis = d;
    }
  }
  std::sort(live.begin(), live.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(boxes[a].offsets[axis], a) < std::pair(boxes[b].offsets[axis], b);
  });
  std::vector<std::size_t> open;
  std::size_t comparisons = 0;
  for (const std::size_t i : live) {
    const std::int64_t start = boxes[i].offsets[axis];
    std::erase_if(open, [&](std::size_t k) {
      return boxes[k].offsets[axis] + boxes[k].sizes[axis] <= start;
    });
    comparisons += open.size();
    for (const std::size_t k : open) {
      if (meet(boxes[k], boxes[i])) {
        result.overlaps.emplace_back(k, i);
        if (result.overlaps.size() == most_overlaps) {
          return result;
        }
      }
    }
    if (comparisons > most_comparisons) {
      return result;  // volumes still tell holes from whole
    }
    open.push_back(i);
  }
  return result;
}

}  // namespace shardlint::checkpoint
