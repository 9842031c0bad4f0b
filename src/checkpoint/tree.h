#pragma once
// From what the user named to the directories that hold checkpoints: tracker files, iterations,
// and the trees in which several checkpoints lie side by side.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/fault.h"
#include "checkpoint/model.h"

namespace shardlint::checkpoint {

struct TreePart {
  std::string directory;
  std::string role;  // "actor/model", "optimizer", ...; empty when there is but one
};

struct Iteration {
  std::string name;  // iter_0001000, global_step_100, release
  std::int64_t number = 0;
};

struct Tree {
  std::string path;    // as named
  std::string layout;  // megatron | bridge | verl | directory
  std::string root;    // where the iterations lie; empty when one of them was named
  std::optional<std::int64_t> tracked;  // what the tracker says
  bool release = false;
  std::string directory;  // the iteration that would be loaded
  std::optional<std::int64_t> iteration;
  std::vector<Iteration> iterations;  // ascending
  std::vector<TreePart> parts;
  std::vector<Finding> findings;
};

// Throws Error when there is nothing of that name, or no checkpoint in it.
Tree resolve(const std::string& path);

// The parts of one iteration.
std::vector<TreePart> parts_of(const std::string& directory);

// Without opening items: the records that each format writes last are there, and every file that
// they refer to has the bytes. For "which earlier iteration is complete".
bool looks_complete(const std::string& directory);

}  // namespace shardlint::checkpoint
