#pragma once
// Nested mappings to facts with dotted keys.

#include <functional>
#include <string>

#include "facts/config.h"
#include "frontend/yaml/evaluate.h"

namespace shardlint::yaml {

// Takes an entry that means something else than its key (an object with _target_) and answers true,
// or leaves it.
using Special = std::function<bool(const Pair& pair, const std::string& path, Facts& into)>;

// Every key below `mapping`, prefixed: lists are List values, an empty mapping is an empty Map
// value, every mapping's own key goes to `sections`.
void flatten(const Scope& scope, const Node& mapping, const std::string& prefix, Facts& into,
             const Special& special = {});

// One entry as a fact; how the value came to stand there is in its note.
Fact fact_of(const Scope& scope, const Pair& pair, const std::string& path, const Node& mapping);

// A key as text: decoded, or as written when it is no scalar.
std::string key_text(const Node& key);

// "line 12"
std::string line_of(const Node& node);

}  // namespace shardlint::yaml
