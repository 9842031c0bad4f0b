#pragma once
// Architecture of well-known public models, for the fields that a provider takes from the model's
// own configuration file. Data: rules/models/*.yaml.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/value.h"

namespace shardlint::python {

struct KnownModel {
  std::string name;  // as on the hub: Qwen/Qwen3-30B-A3B
  std::vector<std::pair<std::string, Value>> values;
  const Value* find(std::string_view field) const;
};

const KnownModel* find_model(std::string_view name);  // null when it is not in the table

// Fields that no provider takes from a model's files: how the job is run, not what the model is.
bool left_to_default(std::string_view field);

}  // namespace shardlint::python
