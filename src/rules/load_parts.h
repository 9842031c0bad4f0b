#pragma once
// The pieces that rules and steps share: names, expressions, evidence, fixes, examples.

#include <string>
#include <vector>

#include "rules/fields.h"

namespace shardlint::rules {

// One instance of a case that is repeated for each role: the role and what its letters stand for.
struct Scopes {
  Text name;
  std::vector<Binding> bindings;
};

class Parts {
 public:
  Parts(Pool& pool, std::vector<Fault>& faults) : pool_(pool), faults_(faults) {}

  // `bind: {actor: {E: actor_rollout_ref.actor.megatron}, ...}`; without it one unnamed scope.
  std::vector<Scopes> scopes(const yaml::Node* node);
  void scope(const Scopes& scope) { scope_ = scope; }

  // The rule's names, then the case's, which win.
  std::vector<Let> lets(const yaml::Node* rule, const yaml::Node* local);
  Expr expr(const yaml::Node& node, const std::vector<Let>& lets);
  std::vector<FixEdit> sets(const yaml::Node& node, const std::vector<Let>& lets);
  std::vector<EvidenceRow> evidence(Fields& fields);
  std::vector<FixRow> fixes(const yaml::Node* node, const Rule& rule);
  std::vector<Example> examples(const yaml::Node* node);

  // Letters of the scope replaced in names that labels point at.
  Text bind(Text key);
  Label bind(Label label);
  void check_template(const yaml::Node& at, Text text, const std::vector<Let>& lets);

 private:
  Example example(const yaml::Node& node);
  void flatten(const yaml::Node& node, const std::string& prefix, std::vector<Pair>& out);
  Expr parse(const yaml::Node& at, std::string_view text, const std::vector<Let>& lets);

  Pool& pool_;
  std::vector<Fault>& faults_;
  Scopes scope_;
};

}  // namespace shardlint::rules
