#include "checkpoint/model.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"

namespace shardlint::checkpoint {

std::string_view name_of(Format format) {
  switch (format) {
    case Format::unknown:
      return "unknown";
    case Format::torch_dcp:
      return "torch_dcp";
    case Format::fsdp_dtensor:
      return "fsdp_dtensor";
    case Format::torch_dist:
      return "torch_dist";
    case Format::legacy:
      return "torch";
    case Format::fsdp_ranks:
      return "fsdp-ranks";
    case Format::safetensors:
      return "safetensors";
    case Format::torch_file:
      return "torch-file";
    case Format::zarr:
      return "zarr";
  }
  return "unknown";
}

std::string Checkpoint::path(std::uint32_t file) const {
  return file < files.size() ? join_path(directory, files[file]) : directory;
}

namespace {
template <typename T>
const T* by_name(const std::vector<T>& sorted, std::string_view name) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), name,
                                   [](const T& a, std::string_view b) { return a.name < b; });
  return at != sorted.end() && at->name == name ? &*at : nullptr;
}
}  // namespace

const Tensor* Checkpoint::find(std::string_view name) const {
  return by_name(tensors, name);
}
const Item* Checkpoint::item(std::string_view name) const {
  return by_name(items, name);
}

std::string text_of(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + ")";
}

Part part_of(std::string_view key) {
  for (const std::string_view prefix : {"mp_rank_", "rank_"}) {  // one file a rank
    if (key.starts_with(prefix) && key.find('/') != std::string_view::npos) {
      key.remove_prefix(key.find('/') + 1);
    }
  }
  for (const std::string_view piece : split(key.substr(0, key.find("/shard_")), '.')) {
    if (piece == "optimizer" || piece == "distrib_optim" || piece == "optim" ||
        piece == "chained_0" || piece == "exp_avg" || piece == "exp_avg_sq") {
      return Part::optimizer;
    }
  }
  const auto starts = [&](std::string_view word) { return key.starts_with(word); };
  if (starts("rng_state") || starts("extra_state.") || starts("rerun_state_machine") ||
      starts("opt_param_scheduler") || starts("lr_scheduler") ||
      key.find("_extra_state") != std::string_view::npos || starts("common_state")) {
    return Part::other;
  }
  return Part::model;
}

bool has_optimizer(const Checkpoint& checkpoint) {
  const auto is = [](const auto& entry) { return part_of(entry.name) == Part::optimizer; };
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), is) ||
         std::any_of(checkpoint.items.begin(), checkpoint.items.end(), is);
}

}  // namespace shardlint::checkpoint
