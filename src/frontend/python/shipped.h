#pragma once
// What the shipped catalogue knows about recipes and public models, for when no checkout of the
// framework and no model file is at hand. Data: rules/schema/megatron-bridge-recipes.yaml (made by
// tools/extract_recipes.py), rules/models/architectures.yaml.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/value.h"

namespace shardlint::python {

// The embedded files.
extern const std::string_view shipped_recipes;
extern const std::string_view shipped_models;

struct ShippedRecipe {
  std::string name;     // recipes.llama3_8b_pretrain_2gpu_h100_bf16_config
  std::string version;  // of Megatron-Bridge
  std::vector<std::pair<std::string, Value>> values;  // what differs from the classes' defaults
};

// By full name (megatron.bridge.recipes.llama.llama32_1b_pretrain_config; the family and hardware
// packages in between do not matter) or by bare name, as a launcher is given it.
std::optional<ShippedRecipe> find_shipped_recipe(std::string_view name);

std::string_view shipped_recipes_version();

}  // namespace shardlint::python
