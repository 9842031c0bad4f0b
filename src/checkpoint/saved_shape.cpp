#include "checkpoint/saved_shape.h"

#include <array>

#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/file.h"

namespace shardlint::checkpoint {
namespace {

// Tensors of which a dimension is the setting itself. Homogeneous layers are saved as one tensor
// with the layers in front; its other dimensions are whole, however the job was sharded. Numbered
// layers count only their own pipeline stage in some formats, so their count is not used.
struct Witness {
  std::string_view setting, tensor;
  std::size_t rank, dimension;
};
constexpr Witness witnesses[] = {
    {"num_layers", "decoder.layers.self_attention.linear_proj.weight", 3, 0},
    {"num_layers", "decoder.layers.mlp.linear_fc2.weight", 3, 0},
    {"hidden_size", "decoder.final_layernorm.weight", 1, 0},
    {"hidden_size", "embedding.word_embeddings.weight", 2, 1},
    {"ffn_hidden_size", "decoder.layers.mlp.linear_fc2.weight", 3, 2},
    {"ffn_hidden_size", "decoder.layers.0.mlp.linear_fc2.weight", 2, 1},
    {"num_moe_experts", "decoder.layers.mlp.router.weight", 3, 1},
};

std::string_view of_megatron_lm(std::string_view name) {
  return name == "num_moe_experts" ? "num_experts" : name;
}

// One rank's file holds a slice of most tensors, so its shapes prove nothing.
bool has_whole_shapes(Format format) {
  return format == Format::torch_dist || format == Format::fsdp_dtensor ||
         format == Format::torch_dcp;
}

}  // namespace

// It is written by a program: sections at the margin, their plain values two in.
RunConfig read_run_config(const std::string& directory) {
  RunConfig values;
  const std::optional<std::string> text =
      read_small_file(join_path(directory, "run_config.yaml"), 16 << 20);
  std::string section;
  for (const std::string_view line :
       split(text ? std::string_view(*text) : std::string_view(), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    if (line.find_first_not_of(' ') == 0) {
      section = line.substr(0, colon);
    } else if (line.find_first_not_of(' ') == 2) {
      values[section + "." + std::string(line.substr(2, colon - 2))] = trim(line.substr(colon + 1));
    }
  }
  return values;
}

std::optional<SavedNumber> saved_number(const std::optional<SavedArguments>& saved,
                                        const RunConfig& run_config, std::string_view name) {
  if (const auto found = run_config.find("model." + std::string(name)); found != run_config.end()) {
    const std::optional<long long> number = to_integer(found->second);
    return number ? std::optional(SavedNumber{*number, "run_config.yaml"}) : std::nullopt;
  }
  if (saved) {
    if (const auto found = saved->arguments.find(std::string(of_megatron_lm(name)));
        found != saved->arguments.end() && found->second.if_integer()) {
      return SavedNumber{*found->second.if_integer(), "its arguments"};
    }
  }
  return std::nullopt;
}

std::optional<SavedNumber> saved_shape(const Checkpoint& checkpoint,
                                       const std::optional<SavedArguments>& saved,
                                       const RunConfig& run_config, std::string_view name) {
  if (std::optional<SavedNumber> recorded = saved_number(saved, run_config, name)) {
    return recorded;
  }
  if (!has_whole_shapes(checkpoint.format)) {
    return std::nullopt;
  }
  for (const Witness& witness : witnesses) {
    if (witness.setting != name) {
      continue;
    }
    for (const std::string_view prefix : {"", "model.", "model.module.", "module."}) {
      const Tensor* tensor = checkpoint.find(std::string(prefix) + std::string(witness.tensor));
      if (tensor != nullptr && tensor->shape.size() == witness.rank) {
        return SavedNumber{tensor->shape[witness.dimension],
                           tensor->name + " " + text_of(tensor->shape)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace shardlint::checkpoint
