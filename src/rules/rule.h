#pragma once
// Rules and rewrites as data, as the engine uses them. One rule is one YAML file (docs/
// writing-rules.md); what is compiled into the executable is the same structures, read in place.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rules/expr.h"
#include "shardlint/diagnostic.h"

namespace shardlint::rules {

using Text = std::string_view;  // lives in a Pool or in the executable

struct EvidenceRow {
  Text repo, commit, path, lines, kind;
};

// `name: expression`. When the expression is a plain key, the name can be pointed at.
struct Let {
  Text name;
  Expr value;
};

// A place a finding shows: the first of `at` (let names or keys) that was written.
struct Label {
  std::vector<Text> at;
  Text text;  // template
};

// Where a step stands in its framework's program.
struct Position {
  std::uint16_t stage = 0;    // index into Stages::names
  std::vector<double> place;  // lexicographic, declared; evidence lines do not define it
};

// A change to a configuration, in keys; the front ends know how to write it.
struct FixEdit {
  Text target;  // let name or key
  Expr value;   // empty: the key is removed
};

struct FixRow {
  Text title;  // template
  std::vector<FixEdit> edits;
  Expr safe;  // when this is true the fix is safe
  Safety otherwise = Safety::unsafe;
};

struct Case {
  Text id, framework, versions;  // versions: a PEP 440 range
  Text scope;                    // verl: the role this instance is bound to; empty elsewhere
  Position position;
  std::vector<Let> lets;  // the rule's and the case's own
  Expr when, require;     // violated: when and not require
  Text written;           // only reported when the user wrote this key; empty: always
  Severity severity = Severity::error;
  Text message, help, note;  // templates; empty: the rule's
  Label primary;
  std::vector<FixRow> fixes;  // those of the rule that are for it, with its role's own keys
  std::vector<EvidenceRow> evidence;
  std::vector<Text> covers;  // ids of the constraint catalogue
};

struct Pair {
  Text key, value;  // value: YAML flow text, resolved by the framework's scalar rules
};

struct Example {
  Text id, framework, version, expect, why, text, case_id;
  bool closed = true;
  std::vector<Text> argv;
  std::vector<Pair> values, env, fixed;  // values: dotted keys
  std::int64_t world_size = 0;           // 0: not given
  Text gpu, fix_safety;
};

struct Rule {
  Text id, name, status, since, category, summary, rationale, message, help, file;
  Severity severity = Severity::error;
  Text no_fix;  // why there is none, a word of `no_fix_reasons`; empty: some case has one
  std::vector<Text> tags, aliases, runtime_errors;
  std::vector<Case> cases;
  std::vector<Label> related;
  std::vector<Example> examples;
};

// Whether a case's conditions or names read the key.
bool reads(const Case& check, std::string_view key);

// What upstream changes, or works out, between its checks.
struct Rewrite {
  Text id, framework, versions, scope;
  Position position;
  std::vector<Let> lets;
  Expr when;  // empty: always
  std::vector<FixEdit> sets;
  bool derived = false;  // works out a value nobody set; not a change of what was written
  std::vector<EvidenceRow> evidence;
  std::vector<Text> covers;
};

struct Stages {
  Text framework;
  std::vector<Text> names;  // in the order in which the program passes through them
};

// Why a rule has no fix: the word that a rule file has, and what it says.
struct NoFixReason {
  Text word, text;
};
std::span<const NoFixReason> no_fix_reasons();

// Everything that was loaded. Codes and names are unique.
struct RuleSet {
  std::vector<Stages> stages;
  std::vector<Rewrite> rewrites;
  std::vector<Rule> rules;
  const Rule* find(std::string_view code_or_name) const;
};

}  // namespace shardlint::rules
