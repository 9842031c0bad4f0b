#pragma once
// Runs the examples that stand in rule files, and mutates conditions to see whether they notice.

#include <map>
#include <string>
#include <vector>

#include "rules/engine.h"
#include "rules/rule.h"
#include "schema/schema.h"

namespace shardlint::rules {

struct ExampleResult {
  std::string name;  // CKP104/b1
  bool passed = false;
  std::string problem;  // what came instead
  bool demand = false;  // not an example but one that should be there
};

// The programs of all rules together, each made once: what a fix must not upset.
class Programs {
 public:
  explicit Programs(const RuleSet& rules) : rules_(rules) {}
  const Program& of(const Schema& schema);

 private:
  const RuleSet& rules_;
  std::map<const Schema*, Program> programs_;
};

// Every example of a rule, and the demands on the set: each case has a failing and a passing
// example; each fix makes a failing example hold and, with `all`, brings no other error (see
// docs/writing-rules.md).
std::vector<ExampleResult> run_examples(const RuleSet& rules, const Rule& rule,
                                        Programs* all = nullptr);

// Negates and drops each term of each condition; a mutant that no example notices is a failure.
std::vector<ExampleResult> run_mutants(const RuleSet& rules, const Rule& rule);

}  // namespace shardlint::rules
