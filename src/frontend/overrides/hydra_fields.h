#pragma once
// Keys that a command line adds to a section that becomes an object.

#include <string>
#include <string_view>

#include "frontend/overrides/hydra_tree.h"
#include "schema/schema.h"

namespace shardlint {

// "`X` has no field `y`" when the section's class takes no such field and is built in this run;
// empty when it does, or when that is not known.
std::string unknown_field(const HydraNode& tree, const Schema& schema, std::string_view key);

}  // namespace shardlint
