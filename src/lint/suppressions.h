#pragma once
// The suppression comments of one file, read with the rules of the run.

#include <string>
#include <vector>

#include "lint/judge.h"
#include "shardlint/lint.h"
#include "source/source.h"

namespace shardlint {

// Moves what comments keep quiet from `diagnostics` into `suppressed`, and adds what there is to
// say about the comments themselves.
void obey_comments(const Source& source, const RuleBook& book, const Options& options,
                   std::vector<Diagnostic>& diagnostics, std::vector<Suppressed>& suppressed);

}  // namespace shardlint
