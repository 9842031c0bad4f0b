#pragma once
// Reads rule files. Strict: a field that is not known, a name that is not defined, a template that
// does not resolve is a fault with its place. docs/writing-rules.md describes the format.

#include <string>
#include <vector>

#include "base/files.h"
#include "rules/rule.h"
#include "source/source.h"

namespace shardlint::rules {

struct Fault {
  Location where;
  std::string message;
};

// A folder of rules: rewrites/*.yaml (stages and steps of each framework) and any other *.yaml at
// any depth but schema/, text/ and models/ (one rule a file). `files` are what was read, folders
// included: what a build depends on.
struct Loaded {
  RuleSet rules;
  std::vector<Fault> faults;
  std::vector<std::string> files;
};

// `base`: rules that these are added to (their stages are known here). Rules of the same id replace
// the earlier ones. Views point into `pool`.
Loaded load_rules(const Disk& disk, const std::string& folder, Pool& pool,
                  const RuleSet& base = {});

// "file:line:column: message" for each fault.
std::string fault_text(const std::vector<Fault>& faults);

}  // namespace shardlint::rules
