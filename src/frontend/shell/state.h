#pragma once
// What a shell knows at one point: variables, positional parameters, the working directory. Copied
// for every branch of an unknown condition and merged after it.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/shell/text.h"

namespace shardlint::shell {

struct Script;
struct Statement;

struct Variable {
  enum class Kind { scalar, array, map } kind = Kind::scalar;
  std::vector<Field> values;      // a scalar has one
  std::vector<std::string> keys;  // of a map, beside `values`
  bool exported = false;
  bool unset = false;    // `unset NAME`: certainly not there
  bool integer = false;  // declare -i
  Span set_at;           // the assignment

  const Text& scalar() const;  // the first value, or an empty text
};
using VariablePtr = std::shared_ptr<const Variable>;

struct State {
  std::map<std::string, VariablePtr> variables;
  std::vector<Field> positional;
  bool positional_known = false;  // false: the script's own arguments, which were not given
  std::map<std::string, std::pair<Script*, const Statement*>> functions;  // where, body
  std::map<std::string, Text> files;  // written by the script: cat > job.sh <<EOF
  std::string directory;              // as seen from here; empty when unknown
  bool export_all = false;            // set -a
  bool pipefail = false;              // set -o pipefail, on some way that leads here
  // What `local` hides, innermost function last.
  std::vector<std::map<std::string, VariablePtr>> hidden;

  const Variable* find(const std::string& name) const;  // null: nothing said, or unset
  // The same, kept alive while something is expanded that may assign to it.
  VariablePtr hold(const std::string& name) const;
};

// What holds after either branch. `condition` is what decided between them.
State merge(const State& left, const State& right, const Span& condition, Notes& notes);

}  // namespace shardlint::shell
