#pragma once
// Keys that a command line adds to a section that becomes an object.

#include <functional>
#include <string>
#include <string_view>

#include "frontend/overrides/hydra_tree.h"
#include "schema/schema.h"

namespace shardlint {

// Whether a class (by its bare name) has a field besides those that the catalogue knows.
using HasField = std::function<bool(std::string_view class_name, std::string_view field)>;

// "`X` has no field `y`" when the section's class takes no such field and is built in this run;
// empty when it does, or when that is not known.
std::string unknown_field(const HydraNode& tree, const Schema& schema, std::string_view key,
                          const HasField& has_field = {});

}  // namespace shardlint
