// The compiled rules, decoded on first use.
#include "rules/pack.h"

extern "C" const char shardlint_rules_begin[];
extern "C" const char shardlint_rules_end[];

namespace shardlint::rules {

namespace {

std::string_view block() {
  return {shardlint_rules_begin,
          static_cast<std::size_t>(shardlint_rules_end - shardlint_rules_begin)};
}

struct WithExamples {
  RuleSet rules = unpack(block());
  std::string storage = unpack_examples(block(), rules);
};

}  // namespace

const RuleSet& builtin_rules() {
  static const RuleSet rules = unpack(block());
  return rules;
}

const RuleSet& builtin_rules_with_examples() {
  static const WithExamples all;
  return all.rules;
}

}  // namespace shardlint::rules
