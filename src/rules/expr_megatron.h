#pragma once
// Functions for the little languages inside Megatron's settings: pipeline layouts
// ("Et*3|(tt|)*2L", megatron/core/transformer/pipeline_parallel_layer_layout.py) and hybrid layer
// patterns ("M*|M*/M", megatron/core/models/hybrid/hybrid_layer_allocation.py).

#include <span>
#include <string_view>

#include "facts/value.h"

namespace shardlint::rules {

struct MegatronFunction {
  std::string_view name;
  Value (*call)(const Value& argument);
};
std::span<const MegatronFunction> megatron_functions();

}  // namespace shardlint::rules
