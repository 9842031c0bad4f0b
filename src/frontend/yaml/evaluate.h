#pragma once
// Values of a document with ${...} worked out the OmegaConf way, as far as the document itself can
// tell: a reference to a key of the same document is its value, everything else is unknown with
// its reason.

#include <string>
#include <string_view>
#include <vector>

#include "facts/value.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/scalar.h"

namespace shardlint::yaml {

struct Scope {
  const Node* root = nullptr;
  Mode mode = Mode::omegaconf;
  bool interpolate = true;  // false: ${...} is plain text to this reader
  bool closed = false;      // nothing is added to the document: a key that is not here is nowhere
};

struct Evaluated {
  Value value;
  const Node* from = nullptr;  // the node that a whole-value reference led to
};

// `path`: the node's own dotted path, for relative references (${.sibling}).
Evaluated evaluate(const Scope& scope, const Node& node, std::string_view path);

}  // namespace shardlint::yaml
