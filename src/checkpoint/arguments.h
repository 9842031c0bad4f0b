#pragma once
// What the job that saved a checkpoint said of itself: its arguments, as plain values.

#include <map>
#include <optional>
#include <string>

#include "checkpoint/model.h"
#include "facts/value.h"

namespace shardlint::checkpoint {

struct SavedArguments {
  std::map<std::string, Value> arguments;  // num_layers, tensor_model_parallel_size, ...
  std::map<std::string, Value> state;      // iteration, checkpoint_version, ...
  std::string sharding_type;               // of the distributed optimizer, where it is recorded
  std::string file;                        // where all of this stands
};

// From the item `args`, from common_state/shard_0_1, from common.pt, or from the first rank's
// file. Nothing when none is there or it cannot be read.
std::optional<SavedArguments> saved_arguments(const Checkpoint& checkpoint);

// The value of a 0-d tensor of a torch.save file: train_state.pt.
std::map<std::string, double> scalar_tensors(const std::string& path);

}  // namespace shardlint::checkpoint
