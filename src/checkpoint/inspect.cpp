#include "checkpoint/inspect.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/arguments.h"
#include "checkpoint/open.h"
#include "checkpoint/reader.h"
#include "checkpoint/slabs.h"
#include "checkpoint/survey.h"
#include "checkpoint/tree.h"
#include "checkpoint/xxh64.h"
#include "shardlint/checkpoint.h"

namespace shardlint {
namespace checkpoint {
namespace {

constexpr std::uint64_t slab_bytes = 4 << 20;

// Arguments that say how a checkpoint can be loaded again.
constexpr std::string_view telling[] = {"world_size",
                                        "data_parallel_size",
                                        "tensor_model_parallel_size",
                                        "pipeline_model_parallel_size",
                                        "virtual_pipeline_model_parallel_size",
                                        "context_parallel_size",
                                        "expert_model_parallel_size",
                                        "expert_tensor_parallel_size",
                                        "num_layers",
                                        "hidden_size",
                                        "ffn_hidden_size",
                                        "num_attention_heads",
                                        "num_query_groups",
                                        "num_experts",
                                        "padded_vocab_size",
                                        "seq_length",
                                        "max_position_embeddings",
                                        "params_dtype",
                                        "ckpt_format",
                                        "use_distributed_optimizer",
                                        "use_megatron_fsdp",
                                        "use_torch_fsdp2",
                                        "optimizer",
                                        "global_batch_size"};

CheckpointPart describe(const Checkpoint& checkpoint) {
  CheckpointPart part;
  part.directory = checkpoint.directory;
  part.role = checkpoint.role;
  part.format = name_of(checkpoint.format);
  part.facts = checkpoint.facts;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::uint64_t elements = volume(tensor.shape).value_or(0);
    const std::uint64_t bytes = checked_mul(elements, size_of(tensor.dtype)).value_or(0);
    part.tensors.push_back({tensor.name, std::string(name_of(tensor.dtype)), tensor.shape,
                            tensor.chunks.size(), bytes});
    const Part role = part_of(tensor.name);
    (role == Part::model       ? part.model_bytes
     : role == Part::optimizer ? part.optimizer_bytes
                               : part.other_bytes) += bytes;
    part.model_elements += role == Part::model ? elements : 0;
    part.has_rng |= tensor.name.find("rng") != std::string::npos;
  }
  for (const Item& item : checkpoint.items) {
    part.objects.push_back(item.name);
    part.has_rng |= item.name.find("rng") != std::string::npos;
  }
  part.has_optimizer = has_optimizer(checkpoint);
  const Survey files = survey(checkpoint);
  part.files = checkpoint.files.size();
  for (const std::string& name : files.names) {
    const std::optional<FileInfo> status = stat_file(join_path(checkpoint.directory, name));
    part.bytes_on_disk += status && !status->is_directory ? status->size : 0;
  }
  for (std::size_t i = 0; i < checkpoint.files.size(); ++i) {  // those in directories below
    part.bytes_on_disk += checkpoint.files[i].find('/') != std::string::npos && files.files[i]
                              ? files.files[i]->size
                              : 0;
  }
  std::set<std::string> writers;  // __3_0.distcp: rank 3
  for (const std::string& file : checkpoint.files) {
    if (file.starts_with("__") && file.ends_with(".distcp")) {
      writers.insert(file.substr(2, file.find('_', 2) - 2));
    }
  }
  if (!writers.empty()) {
    part.facts["ranks that wrote"] = std::to_string(writers.size());
  }
  if (checkpoint.item("common_state/shard_0_1") != nullptr &&
      !stat_file(join_path(checkpoint.directory, "common.pt"))) {
    part.facts["needs"] = "Megatron-Core 0.19 or later (no common.pt)";
  }
  if (const std::optional<SavedArguments> saved = saved_arguments(checkpoint)) {
    for (const auto& [name, value] : saved->state) {
      part.facts[name] = value.text();
    }
    for (const std::string_view name : telling) {
      const auto found = saved->arguments.find(std::string(name));
      if (found != saved->arguments.end() && !found->second.is_null() &&
          !found->second.is_unknown()) {
        part.facts[found->first] = found->second.text();
      }
    }
    if (!saved->sharding_type.empty()) {
      part.facts["optimizer sharding"] = saved->sharding_type;
    }
  }
  return part;
}

TensorStatistics statistics(const Checkpoint& checkpoint, const Tensor& tensor, FilePool& files) {
  TensorStatistics made{checkpoint.role,       tensor.name, "", std::string(name_of(tensor.dtype)),
                        text_of(tensor.shape), "",          {}};
  if (size_of(tensor.dtype) == 0) {
    made.error = "its element type is not known";
    return made;
  }
  try {
    TensorReader reader(checkpoint, tensor, files);
    std::vector<std::byte> bytes;
    Xxh64 digest;
    for_each_slab(tensor.shape, slab_bytes / size_of(tensor.dtype),
                  [&](const Shape& offsets, const Shape& sizes) {
                    bytes.resize(volume(sizes).value() * size_of(tensor.dtype));
                    reader.read(offsets, sizes, bytes);
                    digest.add(bytes);
                    made.counts.merge(count(tensor.dtype, bytes), made.counts.elements);
                  });
    made.digest = digest.text();
  } catch (const Error& error) {
    made.error = error.what();
  }
  return made;
}

}  // namespace

std::vector<TensorStatistics> tensor_statistics(const std::string& path,
                                                const std::string& pattern) {
  std::vector<TensorStatistics> made;
  FilePool files;
  for (const TreePart& part : resolve(path).parts) {
    Checkpoint checkpoint = open_checkpoint(part.directory);
    checkpoint.role = part.role;
    for (const Tensor& tensor : checkpoint.tensors) {
      if (glob_match(pattern, tensor.name)) {
        made.push_back(statistics(checkpoint, tensor, files));
      }
    }
  }
  return made;
}

}  // namespace checkpoint

CheckpointSummary inspect_checkpoint(const std::string& path) {
  const checkpoint::Tree tree = checkpoint::resolve(path);
  CheckpointSummary summary;
  summary.path = path;
  summary.layout = tree.layout;
  summary.directory = tree.directory;
  summary.iteration = tree.release     ? "release"
                      : tree.iteration ? std::to_string(*tree.iteration)
                                       : "";
  for (const checkpoint::Iteration& iteration : tree.iterations) {
    summary.iterations.push_back(iteration.name);
  }
  for (const checkpoint::TreePart& part : tree.parts) {
    checkpoint::Checkpoint opened = checkpoint::open_checkpoint(part.directory);
    opened.role = part.role;
    summary.parts.push_back(checkpoint::describe(opened));
  }
  return summary;
}

}  // namespace shardlint
