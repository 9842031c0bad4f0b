#pragma once
// The model that a checkpoint holds, in numbers: what its job recorded, else what its tensors show.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/arguments.h"
#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// run_config.yaml of Megatron-Bridge as section.key; empty where there is none.
using RunConfig = std::map<std::string, std::string>;
RunConfig read_run_config(const std::string& directory);

struct SavedNumber {
  std::int64_t number = 0;
  std::string said_by;  // run_config.yaml, "its arguments", or a tensor with its shape
};

// A setting of the saving job: Megatron-Bridge's, else Megatron's own arguments. `name` is
// Megatron-Core's name of it (num_moe_experts); Megatron-LM spells one of them otherwise.
std::optional<SavedNumber> saved_number(const std::optional<SavedArguments>& saved,
                                        const RunConfig& run_config, std::string_view name);

// The same, or what the shapes of tensors say where nobody recorded it.
std::optional<SavedNumber> saved_shape(const Checkpoint& checkpoint,
                                       const std::optional<SavedArguments>& saved,
                                       const RunConfig& run_config, std::string_view name);

}  // namespace shardlint::checkpoint
