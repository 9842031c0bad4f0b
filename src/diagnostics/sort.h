#pragma once
// The order of findings: path, offset, code; equal ones once. The same on every run and machine.

#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint {

// Sorts, drops exact repeats and fills in fingerprints (rule, file name, key, message without
// numbers of lines; a counter tells repeats apart).
void sort_diagnostics(std::vector<Diagnostic>& diagnostics);

void sort_suppressed(std::vector<Suppressed>& suppressed);

}  // namespace shardlint
