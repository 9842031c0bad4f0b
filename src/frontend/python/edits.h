#pragma once
// Changes to a configuration as edits of the Python function or script that makes it. Layout stays
// as it is; an empty answer means that the change cannot be made without guessing.

#include <string_view>
#include <vector>

#include "facts/config.h"
#include "shardlint/diagnostic.h"

namespace shardlint::python {

// Sets a key of the configuration whose entry is `config`, read from `source`: the last assignment
// in the function itself, when it is a literal, gets the new value; else an assignment is added
// after the last one to the same object (or to the configuration), before it is returned.
std::vector<Edit> set_value(const Config& config, const Source& source, std::string_view key,
                            const Value& value);

// Python's spelling: True, None, 'text', [1, 2]. Empty for what has none.
std::string spelled(const Value& value);

}  // namespace shardlint::python
