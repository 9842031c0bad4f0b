#pragma once
// A composed Hydra configuration while overrides are applied to it: a tree that knows where each
// value was written, and its interpolations.

#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"

namespace shardlint {

struct HydraNode {
  struct Entry;
  bool is_map = false;
  Value value;                 // of a leaf; text with ${...} is not resolved
  std::vector<Entry> entries;  // of a map
  Origin origin = Origin::default_value;
  Span key_span, value_span;  // where a person wrote it
  std::string note;

  const HydraNode* child(std::string_view key) const;
  HydraNode* child(std::string_view key);
  HydraNode& make(std::string_view key);  // an existing child or a new one
  void erase(std::string_view key);
  void set(Value v);  // a leaf, or a map of what `v` holds
};
struct HydraNode::Entry {
  std::string key;
  HydraNode node;
};

// A value as a node; mappings become maps.
HydraNode node_of(const Value& value);
Value value_of(const HydraNode& node);

// OmegaConf.merge: maps are joined, everything else replaces; ??? does not replace.
void merge_node(HydraNode& into, const HydraNode& from);

const HydraNode* find_node(const HydraNode& root, std::string_view path);

// What a node is once interpolations are followed. A reference to a map gives that map.
struct Resolved {
  Value value;
  const HydraNode* map = nullptr;  // when it is one
  std::string followed;            // the key that a whole-value reference led to
};
Resolved resolve_node(const HydraNode& root, std::string_view path);

// Every leaf as a fact, interpolations followed; empty maps are empty Map values.
void flatten_tree(const HydraNode& root, Facts& into);

}  // namespace shardlint
