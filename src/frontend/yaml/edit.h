#pragma once
// Changes to a document as edits of its text: comments, quotes, indentation and line breaks stay as
// they are. Every plan is carried out on a copy and read again before it is handed out: everything
// but the keys named must be as it was, and those as asked.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/value.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/scalar.h"
#include "shardlint/diagnostic.h"

namespace shardlint::yaml {

struct KeyChange {
  std::string key;  // dotted, below the mapping that is edited
  Value value;      // lists and mappings are written in brackets; ignored when removed
  bool remove = false;
};

struct EditPlan {
  std::vector<Edit> edits;  // empty: refused
  std::string refusal;      // why: "&base is used elsewhere too"
  explicit operator bool() const { return !edits.empty(); }
};

// Sets, inserts (with the sections that are missing) and removes keys. A value that comes through a
// merge is set in the mapping itself; one behind an alias, or with an anchor that aliases use, is
// refused.
EditPlan edit_keys(const Document& document, const Node& mapping,
                   std::span<const KeyChange> changes, Mode mode);

// Removes this one entry of a mapping, such as the other half of a duplicate.
EditPlan remove_entry(const Document& document, const Node& mapping, const Pair& pair);

}  // namespace shardlint::yaml
