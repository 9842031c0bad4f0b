#pragma once
// Runs a framework's program over a configuration: rewrites and checks in upstream's order, on the
// values in force at that point. Unlike upstream it goes on after a failed check.

#include <cstdint>
#include <string>
#include <vector>

#include "facts/config.h"
#include "rules/rule.h"
#include "rules/state.h"
#include "schema/schema.h"

namespace shardlint::rules {

// The steps of one framework at one version, in order. Holds views into the rules and the schema.
struct ProgramStep {
  const Rewrite* rewrite = nullptr;  // either this
  const Rule* rule = nullptr;        // or these two
  const Case* check = nullptr;
  std::vector<std::string_view> keys;  // every key that it reads, spellings resolved
};
struct Program {
  const Schema* schema = nullptr;
  std::vector<ProgramStep> steps;
};
Program make_program(const RuleSet& rules, const Schema& schema);

// A fix in keys; the front end that read the key turns it into edits.
struct Change {
  std::string key;
  Value value;
  bool remove = false;
};
struct FixPlan {
  std::string title;
  Safety safety = Safety::unsafe;
  std::vector<Change> changes;
  std::size_t row = 0;  // of Case::fixes
};

struct Finding {
  Diagnostic diagnostic;
  std::vector<FixPlan> plans;
  const Rule* rule = nullptr;
  const Case* check = nullptr;
  // Of an unknown verdict: the rule certainly concerns this configuration, and what is unknown is
  // something that was written there, so that a person can do something about it.
  bool worth_telling = true;
  // Some key that the statement reads has its default: who adds a word may decide otherwise.
  bool on_defaults = false;
};

struct Run {
  std::vector<Finding> findings;  // in program order
  Config config;                  // after the last step, with every chain
};

// How long each step of a program took and how often it ran, by its index; filled when asked for.
struct StepTimes {
  std::vector<std::uint64_t> nanoseconds, calls;
};

// One pass in one world, every verdict kept. In a fragment, steps none of whose keys is set are
// left out: they cannot be this file's business.
Run run(const Program& program, Config config, World world, StepTimes* times = nullptr);

// What a user is told: violations, and the unknown verdicts that are worth telling. A closed
// configuration is run once. A fragment is run open and again with
// its absent keys assumed to have their defaults: what fails only then has verdict unknown and
// severity warning, and names the absent keys.
Run check(const Program& program, const Config& config, StepTimes* times = nullptr);

}  // namespace shardlint::rules
