#pragma once
// Runs the examples that stand in rule files, and mutates conditions to see whether they notice.

#include <string>
#include <vector>

#include "rules/rule.h"

namespace shardlint::rules {

struct ExampleResult {
  std::string name;  // CKP104/b1
  bool passed = false;
  std::string problem;  // what came instead
  bool demand = false;  // not an example but one that should be there
};

// Every example of a rule, and the demands on the set: each case has a failing and a passing
// example (see docs/writing-rules.md).
std::vector<ExampleResult> run_examples(const RuleSet& rules, const Rule& rule);

// Negates and drops each term of each condition; a mutant that no example notices is a failure.
std::vector<ExampleResult> run_mutants(const RuleSet& rules, const Rule& rule);

}  // namespace shardlint::rules
