#pragma once
// Where every parameter lies: flat buckets (embedding, one a layer, experts, head), how a bucket
// is cut over ranks, and which boxes of its tensors a cut holds. Pure arithmetic.

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/plan.h"

namespace shardlint::ranks {

struct Tensor {
  std::string name;  // as Megatron names it, without the wrappers' prefix
  std::vector<std::int64_t> shape;
  std::size_t offset, count;  // elements, in the bucket
  std::uint64_t number;       // of the whole model: seeds its first values
  float deviation;            // of the first values; 0 = constant
  float constant;
};

struct Bucket {
  std::string name;
  std::vector<Tensor> tensors;
  std::size_t count = 0;  // elements, padded so that every rank's part is aligned
  bool expert = false;    // reduced over the expert-data group
};

struct Layout {
  std::vector<Bucket> buckets;  // embedding, layers..., [experts,] head
  int layers = 0;
  bool moe = false;
  std::size_t embedding() const { return 0; }
  std::size_t layer(int i) const { return 1 + static_cast<std::size_t>(i); }
  std::size_t experts() const { return 1 + static_cast<std::size_t>(layers); }
  std::size_t head() const { return buckets.size() - 1; }
  const Tensor& find(std::size_t bucket, const std::string& suffix) const;
};

// dense_parts and expert_parts: over how many ranks a bucket is cut (1 = not at all).
// first_expert, local_experts: the experts of this rank's place in the expert-parallel group.
Layout make_layout(const ModelSizes& sizes, int dense_parts, int expert_parts, int first_expert,
                   int local_experts);

struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};
Range part_of(std::size_t count, int parts, int index);

// A box of a tensor: what a checkpoint calls a chunk.
struct Box {
  std::vector<std::int64_t> offsets, sizes;
  std::size_t first, count;  // elements in the tensor's own order: a box here is contiguous
};
// The elements [begin, end) of a row-major tensor as at most 2 * rank - 1 contiguous boxes.
std::vector<Box> boxes_of(const std::vector<std::int64_t>& shape, std::size_t begin,
                          std::size_t end);

}  // namespace shardlint::ranks
