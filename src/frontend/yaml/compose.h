#pragma once
// Placed events to a tree: aliases bound, merges done, duplicates found.

#include <optional>
#include <vector>

#include "frontend/yaml/document.h"
#include "frontend/yaml/events.h"

namespace shardlint::yaml {

// Fills in roots, nodes and duplicates. What it accepts is free of cycles and within the limits, so
// that a walk over entries() and items() ends.
std::optional<Fault> compose(const Source& source, std::vector<Event>& events, const Limits& limits,
                             Document& out);

}  // namespace shardlint::yaml
