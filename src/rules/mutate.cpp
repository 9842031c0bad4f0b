#include "rules/mutate.h"

#include <fmt/format.h>

namespace shardlint::rules {
namespace {

Mutant copy_of(const Expr& expr, std::string what) {
  return {std::move(what),
          {expr.nodes.begin(), expr.nodes.end()},
          {expr.kids.begin(), expr.kids.end()},
          expr.strings,
          expr.source};
}

// Puts `replacement` wherever `term` was used; the root is copied to the end, where roots are.
void replace(Mutant& mutant, std::uint32_t term, std::uint32_t replacement, std::size_t old_kids) {
  for (std::size_t i = 0; i < old_kids; ++i) {
    if (mutant.kids[i] == term) {
      mutant.kids[i] = replacement;
    }
  }
}

Mutant negated(const Expr& expr, std::uint32_t term, bool is_root) {
  Mutant out = copy_of(expr, fmt::format("negate term {}", term));
  const std::size_t old_kids = out.kids.size();
  Node negation{};
  negation.op = Op::not_;
  negation.kid_count = 1;
  negation.first_kid = static_cast<std::uint32_t>(old_kids);
  out.kids.push_back(term);
  const auto index = static_cast<std::uint32_t>(out.nodes.size());
  out.nodes.push_back(negation);
  if (!is_root) {
    replace(out, term, index, old_kids);
    out.nodes.push_back(out.nodes[expr.root_index()]);
  }
  return out;
}

Mutant dropped(const Expr& expr, std::uint32_t parent, std::uint32_t keep, std::uint32_t term) {
  Mutant out = copy_of(expr, fmt::format("drop term {}", term));
  if (parent == expr.root_index()) {
    out.nodes.push_back(out.nodes[keep]);
  } else {
    replace(out, parent, keep, out.kids.size());
    out.nodes.push_back(out.nodes[expr.root_index()]);
  }
  return out;
}

}  // namespace

std::vector<Mutant> mutants(const Expr& expr) {
  std::vector<Mutant> out;
  if (expr.empty()) {
    return out;
  }
  const auto is_logic = [&](std::uint32_t i) {
    return expr.nodes[i].op == Op::and_ || expr.nodes[i].op == Op::or_;
  };
  if (!is_logic(expr.root_index())) {
    out.push_back(negated(expr, expr.root_index(), true));
  }
  for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
    if (!is_logic(i)) {
      continue;
    }
    for (unsigned side = 0; side < 2; ++side) {
      const std::uint32_t term = expr.kid_index(expr.nodes[i], side);
      if (!is_logic(term)) {
        out.push_back(negated(expr, term, false));
      }
      out.push_back(dropped(expr, i, expr.kid_index(expr.nodes[i], 1 - side), term));
    }
  }
  return out;
}

}  // namespace shardlint::rules
