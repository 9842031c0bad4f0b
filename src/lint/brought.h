#pragma once
// Values that a shell variable brings: a finding points at the word that uses the variable, and a
// related place says where the value is written.

#include <vector>

#include "frontend/shell/launcher.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

struct BroughtValue {
  std::string instance;  // of the launch: another may use the same words with other values
  Location use, written;
  std::string label;  // "`PP` is set to `4` here"
};

std::vector<BroughtValue> brought_values(const shell::Launch& launch);

// Adds the places to the findings that point at a use, themselves or in a related place.
void add_brought(std::vector<Diagnostic>& diagnostics, const std::vector<BroughtValue>& values);

}  // namespace shardlint
