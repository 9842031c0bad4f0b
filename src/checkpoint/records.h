#pragma once
// The small files beside the data: metadata.json, integrity.json, ckpt_contents.json, train states.
// Each is read, held against the others, and against what the saved arguments say.

#include <vector>

#include "checkpoint/arguments.h"
#include "checkpoint/model.h"
#include "checkpoint/tree.h"

namespace shardlint::checkpoint {

// Records of the tree as a whole.
std::vector<Finding> check_tree(const Tree& tree);

// Records of one part; with `deep` files are hashed against integrity.json.
std::vector<Finding> check_records(const Checkpoint& checkpoint,
                                   const std::optional<SavedArguments>& saved, const Tree& tree,
                                   bool deep);

}  // namespace shardlint::checkpoint
