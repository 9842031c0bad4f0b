#pragma once
// Changes to a configuration as edits of the Python function or script that makes it. Layout stays
// as it is; an empty answer means that the change cannot be made without guessing.

#include <string_view>
#include <vector>

#include "facts/config.h"
#include "frontend/python/syntax.h"
#include "shardlint/diagnostic.h"

namespace shardlint::python {

// One Python file that changes are written into. What it is made from outlives it.
class Editable {
 public:
  Editable(const Syntax& syntax, const Names& names) : syntax_(syntax), names_(names) {}

  // Sets a key of the configuration `config`, which was read from the file: the last assignment in
  // the function (or script) itself, when it is a literal, gets the new value; else an assignment
  // is added after the last one to the same object (or to the configuration), before it is returned
  // or handed to pretrain().
  std::vector<Edit> set_value(const Config& config, std::string_view key, const Value& value);

 private:
  const Syntax& syntax_;
  const Names& names_;
};

// Python's spelling: True, None, 'text', [1, 2]. Empty for what has none.
std::string spelled(const Value& value);

}  // namespace shardlint::python
