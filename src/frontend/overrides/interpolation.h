#pragma once
// OmegaConf's ${...} in a composed tree.

#include <string_view>

#include "frontend/overrides/hydra_tree.h"

namespace shardlint {

// `path` is where the value stands, for relative references. Lists are resolved item by item. What
// the tree cannot tell (environment, other resolvers, missing keys) is unknown with its reason.
Resolved resolve_at(const HydraNode& root, const Value& value, std::string_view path);

}  // namespace shardlint
