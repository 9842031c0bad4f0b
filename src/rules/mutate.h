#pragma once
// Small changes to a condition, each of which should change some example's verdict.

#include <memory>
#include <string>
#include <vector>

#include "rules/expr.h"

namespace shardlint::rules {

struct Mutant {
  std::string what;  // "negate term 3", "drop term 2"
  std::vector<Node> nodes;
  std::vector<std::uint32_t> kids;
  std::string_view strings, source;
  Expr view() const { return {nodes, kids, strings, source}; }
};

// For each term of the condition (operands of and/or, or the whole): its negation; and for
// operands of and/or: the condition without it.
std::vector<Mutant> mutants(const Expr& expr);

}  // namespace shardlint::rules
