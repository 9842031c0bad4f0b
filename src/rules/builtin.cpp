// The compiled rules, decoded on first use.
#include "rules/pack.h"

extern "C" const char shardlint_rules_begin[];
extern "C" const char shardlint_rules_end[];

namespace shardlint::rules {

const RuleSet& builtin_rules() {
  static const RuleSet rules =
      unpack({shardlint_rules_begin,
              static_cast<std::size_t>(shardlint_rules_end - shardlint_rules_begin)});
  return rules;
}

}  // namespace shardlint::rules
