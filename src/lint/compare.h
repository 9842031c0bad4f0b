#pragma once
// Two effective configurations, key by key.

#include <string>
#include <vector>

#include "lint/effects.h"
#include "lint/resolve.h"

namespace shardlint {

struct Difference {
  // differs: two known values. undecided: one that is not known may be the other. only_a, only_b:
  // the other side has no such key.
  enum class Kind { differs, undecided, only_a, only_b } kind = Kind::differs;
  std::string key;  // of side a, or of b where a has none
  const EffectiveKey *a = nullptr, *b = nullptr;
  const EffectRow* effect = nullptr;  // null: not classified
};

struct Comparison {
  std::vector<Difference> differences;  // sorted by key
  std::size_t same = 0;                 // keys with one value
  // Keys that one side alone knows and that nobody set: what another release or framework has more.
  std::vector<std::string> defaults_of_a, defaults_of_b;
};

// Points into `a` and `b`. Configurations of one framework are compared by key, renamed ones under
// both names; of different frameworks by the names that they share.
Comparison compare(const Effective& a, const Effective& b);

}  // namespace shardlint
