#include "frontend/python/models.h"

#include <algorithm>

namespace shardlint::python {

const Value* KnownModel::find(std::string_view field) const {
  for (const auto& [name, value] : values) {
    if (name == field) {
      return &value;
    }
  }
  return nullptr;
}

const KnownModel* find_model(std::string_view) {
  return nullptr;
}

bool left_to_default(std::string_view field) {
  static constexpr std::string_view names[] = {"tensor_model_parallel_size",
                                               "pipeline_model_parallel_size",
                                               "context_parallel_size",
                                               "expert_model_parallel_size",
                                               "expert_tensor_parallel_size",
                                               "sequence_parallel",
                                               "virtual_pipeline_model_parallel_size"};
  return std::find(std::begin(names), std::end(names), field) != std::end(names);
}

}  // namespace shardlint::python
