#include "frontend/python/models.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "frontend/python/shipped.h"

namespace shardlint::python {

const Value* KnownModel::find(std::string_view field) const {
  for (const auto& [name, value] : values) {
    if (name == field) {
      return &value;
    }
  }
  return nullptr;
}

const KnownModel* find_model(std::string_view name) {
  static const std::vector<KnownModel> models = [] {
    std::vector<KnownModel> all;
    for (std::string_view line : split(shipped_models, '\n')) {
      if (!line.starts_with("- ")) {
        continue;
      }
      const nlohmann::json row = nlohmann::json::parse(line.substr(2));
      for (const auto& known : row["names"]) {
        KnownModel model;
        model.name = known.get<std::string>();
        for (const auto& [field, value] : row["values"].items()) {
          model.values.emplace_back(field, Value(value.get<std::int64_t>()));
        }
        all.push_back(std::move(model));
      }
    }
    return all;
  }();
  for (const KnownModel& model : models) {
    if (model.name == name) {
      return &model;
    }
  }
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
