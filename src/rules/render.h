#pragma once
// From a case that does not hold to the finding a person reads.

#include <string>
#include <string_view>
#include <vector>

#include "rules/engine.h"

namespace shardlint::rules {

// Fills `{name.value}`, `{name.key}`, `{name.origin}` and `{expression}` in a template.
std::string fill(std::string_view text, State& state);

// A fault in a template, or empty: checked when rules are loaded.
std::string template_fault(std::string_view text, const std::vector<Let>& lets);

// The finding for `check` at this point of the program. `undecided`: the verdict is unknown, and
// `unknowns` are the keys on whose values it hangs.
Finding make_finding(const Rule& rule, const Case& check, State& state, bool undecided,
                     const std::vector<std::string_view>& unknowns);

// Says of each of the keys whose value only holds while the environment sets no other.
void add_assumptions(Diagnostic& d, const std::vector<std::string_view>& keys, const State& state);

// The key as a user of the framework writes it: a flag or a dotted path.
std::string spelled(std::string_view key, const State& state);

// Why the key's value is not known, and what to supply.
UnknownInput unknown_input(std::string_view key, State& state);

}  // namespace shardlint::rules
