#pragma once
// Whether two documents are the same but for some keys.

#include <string>
#include <vector>

#include "frontend/yaml/document.h"

namespace shardlint::yaml {

// Where a mapping stands: keys and indices from the root, for a mapping of the same shape of
// document after an edit.
std::vector<std::string> place_of(const Node& node);

// Node for node: kinds, styles, text, tags, anchors and the order of keys. What lies at or below
// one of `except` (paths from the root) may differ; their ancestors may become mappings.
bool same_except(const Document& before, const Document& after,
                 const std::vector<std::vector<std::string>>& except);

// The node at a path, or null.
const Node* node_at(const Document& document, const std::vector<std::string>& path);

}  // namespace shardlint::yaml
