#include "checkpoint/open.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/file.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/metadata.h"
#include "checkpoint/rank_files.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_file.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint64_t largest_metadata = std::uint64_t{1} << 30;

bool any_name(const std::vector<std::string>& names, std::string_view prefix,
              std::string_view suffix) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(prefix) && name.ends_with(suffix);
  });
}

// __0.metadata of a save without collectives.
bool is_rank_metadata(std::string_view name) {
  return name.starts_with("__") && name.ends_with(".metadata") && name.size() > 11 &&
         std::all_of(name.begin() + 2, name.end() - 9, [](char c) { return c >= '0' && c <= '9'; });
}

// Megatron-FSDP and plain DCP directories look alike; the loader goes by a flag, we by the keys.
bool has_fsdp_keys(const Checkpoint& checkpoint) {
  const auto telling = [](const std::string& name) {
    return name.starts_with("model.module.") || name.starts_with("model0.module.") ||
           name.starts_with("optimizer.param_to_group_meta.") ||
           name.starts_with("optimizer.state.module.");
  };
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const Tensor& t) { return telling(t.name); }) ||
         std::any_of(checkpoint.items.begin(), checkpoint.items.end(),
                     [&](const Item& i) { return telling(i.name); });
}

void read_metadata_file(const std::string& path, Checkpoint& into) {
  const std::optional<FileInfo> status = stat_file(path);
  if (status && status->size > largest_metadata) {
    into.findings.push_back(
        {Fault::metadata_unreadable,
         path,
         {},
         "",
         std::to_string(status->size) + " bytes are more than any description has",
         {}});
    return;
  }
  const std::optional<std::string> bytes = read_small_file(path, largest_metadata);
  if (!bytes) {
    into.findings.push_back({Fault::metadata_unreadable, path, {}, "", "cannot be read", {}});
    return;
  }
  parse_metadata(*bytes, path, into);
}

void open_dcp(const std::vector<std::string>& names, Checkpoint& into) {
  if (std::find(names.begin(), names.end(), ".metadata") != names.end()) {
    read_metadata_file(join_path(into.directory, ".metadata"), into);
    return;
  }
  std::size_t ranks = 0;
  for (const std::string& name : names) {
    if (is_rank_metadata(name)) {
      Checkpoint part;
      part.directory = into.directory;
      read_metadata_file(join_path(into.directory, name), part);
      merge_metadata(std::move(part), into);
      ++ranks;
    }
  }
  if (ranks != 0) {
    into.facts["metadata files"] = std::to_string(ranks) + ", one a rank";
  }
}

// A single file, given by name.
Checkpoint open_file(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.directory = parent_path(path);
  if (path.ends_with(".safetensors")) {
    checkpoint.format = Format::safetensors;
    add_safetensors(file_name(path), checkpoint);
    checkpoint.has_metadata = true;
  } else {
    checkpoint.format = Format::torch_file;
    add_torch_file(file_name(path), "", checkpoint);
  }
  std::stable_sort(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                   [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  return checkpoint;
}

}  // namespace

Format detect_format(const std::string& directory) {
  const std::vector<std::string> names = RealDisk().list(directory);
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("metadata.json")) {
    const std::optional<std::string> text =
        read_small_file(join_path(directory, "metadata.json"), 1 << 20);
    return text && text->find("\"zarr\"") != std::string::npos ? Format::zarr : Format::torch_dist;
  }
  if (any_name(names, "mp_rank_0", "")) {
    return Format::legacy;
  }
  if (has(".metadata") || std::any_of(names.begin(), names.end(), is_rank_metadata) ||
      any_name(names, "__", ".distcp")) {
    return Format::torch_dcp;
  }
  if (any_name(names, "model_world_size_", ".pt")) {
    return Format::fsdp_ranks;
  }
  if (has("model.safetensors.index.json") || any_name(names, "", ".safetensors")) {
    return Format::safetensors;
  }
  return Format::unknown;
}

Checkpoint open_checkpoint(const std::string& path) {
  const std::optional<FileInfo> status = stat_file(path);
  if (!status) {
    throw Error("cannot open " + path + ": no such file or directory");
  }
  Checkpoint checkpoint;
  if (!status->is_directory) {
    return open_file(path);
  }
  checkpoint.directory = path;
  checkpoint.format = detect_format(path);
  const std::vector<std::string> names = RealDisk().list(path);
  switch (checkpoint.format) {
    case Format::torch_dist:
    case Format::torch_dcp:
      open_dcp(names, checkpoint);
      if (checkpoint.format == Format::torch_dcp && has_fsdp_keys(checkpoint)) {
        checkpoint.format = Format::fsdp_dtensor;
      }
      break;
    case Format::legacy:
      open_legacy(checkpoint);
      break;
    case Format::fsdp_ranks:
      open_fsdp_ranks(checkpoint);
      break;
    case Format::safetensors:
      open_hugging_face(checkpoint);
      break;
    case Format::zarr:
      checkpoint.findings.push_back({Fault::format_retired,
                                     join_path(path, "metadata.json"),
                                     {},
                                     "",
                                     "names the zarr backend, which Megatron-Core 0.16 removed",
                                     {}});
      break;
    case Format::fsdp_dtensor:
    case Format::torch_file:
    case Format::unknown:
      break;
  }
  return checkpoint;
}

}  // namespace shardlint::checkpoint
