#pragma once
// Which names a pickle may mention, by what it is for. Nothing is ever imported; the point is to
// tell a damaged or hostile file from a checkpoint.

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/fault.h"
#include "checkpoint/pickle.h"

namespace shardlint::checkpoint {

enum class PickleRole {
  metadata,  // .metadata: the classes of torch.distributed.checkpoint
  tensor,    // data.pkl of one tensor
  object,    // data.pkl of anything else: arguments, RNG states, whole state dicts
};

enum class NameVerdict { expected, unexpected, runs_code };
NameVerdict judge(std::string_view module, std::string_view name, PickleRole role);

// Findings for the names of a pickle; `base` is the pickle's offset in the file.
std::vector<Finding> judge_globals(const pickle::Pickle& pickle, PickleRole role,
                                   const std::string& file, std::uint64_t base,
                                   const std::string& tensor);

}  // namespace shardlint::checkpoint
