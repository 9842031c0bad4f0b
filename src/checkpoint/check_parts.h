#pragma once
// The checks of one checkpoint directory, cheap to deep. Each returns what it found.

#include <functional>
#include <vector>

#include "checkpoint/model.h"
#include "checkpoint/survey.h"

namespace shardlint::checkpoint {

// Files against the description: presence, sizes, times, ranges of bytes.
std::vector<Finding> check_files(const Checkpoint& checkpoint, const Survey& survey);

// Tensors against their pieces, objects against their parts.
std::vector<Finding> check_pieces(const Checkpoint& checkpoint);

// What the keys mean: optimizer against model, layers, experts.
std::vector<Finding> check_keys(const Checkpoint& checkpoint);

// The step counters of the optimizer agree. Reads their values, a few bytes each.
std::vector<Finding> check_steps(const Checkpoint& checkpoint);

struct ItemOptions {
  bool deep = false;     // read all bytes
  unsigned threads = 0;  // 0: as many as the machine has
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};  // bytes
};
struct ItemResult {
  std::vector<Finding> findings;
  std::uint64_t bytes = 0;  // values read
};
// Every item opened and compared with what is recorded of it; with `deep` all values are read.
ItemResult check_items(const Checkpoint& checkpoint, const Survey& survey,
                       const ItemOptions& options);

}  // namespace shardlint::checkpoint
