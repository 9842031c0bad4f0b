#include "checkpoint/command_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace shardlint::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity; a name is better than a null that says nothing.
Json number(double value) {
  return std::isnan(value)   ? Json("nan")
         : std::isinf(value) ? Json(value > 0 ? "inf" : "-inf")
                             : Json(value);
}

std::string text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const CheckpointSummary& summary) {
  Json out = {{"version", 1},
              {"path", summary.path},
              {"layout", summary.layout},
              {"directory", summary.directory},
              {"iteration", summary.iteration},
              {"iterations", summary.iterations},
              {"parts", Json::array()}};
  for (const CheckpointPart& part : summary.parts) {
    Json tensors = Json::array();
    for (const CheckpointTensor& t : part.tensors) {
      tensors.push_back({{"name", t.name},
                         {"dtype", t.dtype},
                         {"shape", t.shape},
                         {"pieces", t.pieces},
                         {"bytes", t.bytes}});
    }
    out["parts"].push_back({{"directory", part.directory},
                            {"role", part.role},
                            {"format", part.format},
                            {"files", part.files},
                            {"bytes_on_disk", part.bytes_on_disk},
                            {"model_elements", part.model_elements},
                            {"model_bytes", part.model_bytes},
                            {"optimizer_bytes", part.optimizer_bytes},
                            {"other_bytes", part.other_bytes},
                            {"has_optimizer", part.has_optimizer},
                            {"has_rng", part.has_rng},
                            {"facts", part.facts},
                            {"tensors", std::move(tensors)},
                            {"objects", part.objects}});
  }
  return text(out);
}

std::string to_json(std::span<const TensorStatistics> statistics) {
  Json out = {{"version", 1}, {"tensors", Json::array()}};
  for (const TensorStatistics& s : statistics) {
    Json entry = {{"part", s.part}, {"name", s.name}, {"dtype", s.dtype}, {"shape", s.shape}};
    if (s.error.empty()) {
      const double n = static_cast<double>(std::max<std::uint64_t>(s.counts.finite, 1));
      entry.update({{"elements", s.counts.elements},
                    {"min", number(s.counts.minimum)},
                    {"max", number(s.counts.maximum)},
                    {"mean", number(s.counts.sum / n)},
                    {"nan", s.counts.nan},
                    {"infinite", s.counts.infinite},
                    {"zero", s.counts.zero},
                    {"negative", s.counts.negative},
                    {"xxh64", s.digest}});
    } else {
      entry["error"] = s.error;
    }
    out["tensors"].push_back(std::move(entry));
  }
  return text(out);
}

std::string to_json(std::span<const TensorDifference> differences) {
  Json out = {{"version", 1}, {"tensors", Json::array()}};
  for (const TensorDifference& d : differences) {
    out["tensors"].push_back({{"name", d.name},
                              {"verdict", d.verdict},
                              {"detail", d.detail},
                              {"elements", d.elements},
                              {"differing", d.differing},
                              {"largest_absolute", number(d.largest_absolute)},
                              {"largest_relative", number(d.largest_relative)},
                              {"xxh64_a", d.digest_a},
                              {"xxh64_b", d.digest_b}});
  }
  return text(out);
}

}  // namespace shardlint::checkpoint
