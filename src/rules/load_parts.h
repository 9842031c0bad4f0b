#pragma once
// The pieces that rules and steps share: names, expressions, evidence, fixes, examples.

#include <set>
#include <string>
#include <vector>

#include "rules/fields.h"

namespace shardlint::rules {

// One instance of a case that is repeated for each role: the role, what its letters stand for, and
// the names it defines.
struct Scopes {
  Text name;
  std::vector<Binding> bindings;
  const yaml::Node* lets = nullptr;
};

// What all rules and steps of a framework may use: names, and roles by name (verl's actor, critic
// ...). A role's name `built` says whether the program has the role; its cases hold where it has
// not.
struct Vocabulary {
  const yaml::Node* lets = nullptr;
  std::vector<Scopes> roles;
};

class Parts {
 public:
  Parts(Pool& pool, std::vector<Fault>& faults, const Vocabulary* vocabulary = nullptr)
      : pool_(pool), faults_(faults), vocabulary_(vocabulary) {}

  // `bind: [actor, critic]` names roles of the framework's program, `bind: {actor: {E:
  // actor_rollout_ref.actor.megatron}, ...}` defines them here; without it one unnamed scope.
  std::vector<Scopes> scopes(const yaml::Node* node);
  void scope(const Scopes& scope) { scope_ = scope; }

  // Of the framework's and the role's names those that `nodes` and `texts` use, then the rule's,
  // then the case's, which win.
  std::vector<Let> lets(const yaml::Node* rule, const yaml::Node* local,
                        const std::vector<const yaml::Node*>& nodes,
                        const std::vector<std::string_view>& texts);
  // A condition under which the scope's role is there at all, in front of the case's own.
  Expr when(const yaml::Node* node, const std::vector<Let>& lets);
  Expr expr(const yaml::Node& node, const std::vector<Let>& lets);
  std::vector<FixEdit> sets(const yaml::Node& node, const std::vector<Let>& lets);
  std::vector<EvidenceRow> evidence(Fields& fields);
  // With the scope's own keys; a target that is neither a name of the case nor a key is a fault.
  std::vector<FixRow> fixes(const std::vector<const yaml::Node*>& nodes, const Case& check);
  std::vector<Example> examples(const yaml::Node* node);

  // Letters of the scope replaced in names that labels point at.
  Text bind(Text key);
  Label bind(Label label);
  // The same inside the braces of a template.
  Text bind_template(Text text);
  void check_template(const yaml::Node& at, Text text, const std::vector<Let>& lets);

 private:
  FixRow fix(Fields& fields, const Case& check);
  FixEdit edit(const yaml::Node& at, Text key, Expr value, const Case& check);
  Example example(const yaml::Node& node);
  void flatten(const yaml::Node& node, const std::string& prefix, std::vector<Pair>& out);
  Expr parse(const yaml::Node& at, std::string_view text, const std::vector<Let>& lets);

  void add_lets(const yaml::Node* node, const std::set<std::string_view>* wanted,
                std::vector<Let>& out);
  Pool& pool_;
  std::vector<Fault>& faults_;
  const Vocabulary* vocabulary_;
  Scopes scope_;
};

}  // namespace shardlint::rules
