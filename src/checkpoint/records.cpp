#include "checkpoint/records.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/file.h"
#include "checkpoint/sha256.h"

namespace shardlint::checkpoint {
namespace {

using Json = nlohmann::json;

// Nothing when the file is absent; a discarded value when it is no JSON.
std::optional<Json> read_json(const std::string& path) {
  if (!stat_file(path)) {
    return std::nullopt;
  }
  const std::optional<std::string> text = read_small_file(path, 16 << 20);
  // Nesting costs stack in the parser; no record of a checkpoint has more than a few levels.
  const bool deep = text && std::count(text->begin(), text->end(), '[') +
                                    std::count(text->begin(), text->end(), '{') >
                                100'000;
  return text && !deep ? Json::parse(*text, nullptr, false) : Json(Json::value_t::discarded);
}

bool escapes(const std::string& path) {
  return path.empty() || path.front() == '/' ||
         ("/" + path + "/").find("/../") != std::string::npos;
}

class Records {
 public:
  std::vector<Finding> findings;
  void add(Fault fault, const std::string& file, std::string message,
           std::optional<Severity> severity = {}) {
    findings.push_back({fault, file, {}, "", std::move(message), severity});
  }

  // verl: written last, lists where each part of the save lies.
  void contents(const Tree& tree, const std::string& directory) {
    const std::string path = join_path(directory, "ckpt_contents.json");
    const std::optional<Json> json = read_json(path);
    if (!json) {
      const bool v2 = stat_file(join_path(directory, "model/dist_ckpt")) ||
                      stat_file(join_path(directory, "optimizer/dist_ckpt"));
      const bool v1 = !v2 && stat_file(join_path(directory, "dist_ckpt")).has_value();
      if (v2) {
        add(Fault::commit_record_missing, path,
            "is written last and is not there: the save did not finish", Severity::warning);
      } else if (v1) {
        add(Fault::format_retired, directory,
            "dist_ckpt/ lies at the root of the checkpoint, as verl wrote it before its second "
            "layout; its loader refuses that");
      }
      return;
    }
    if (!json->is_object() || !json->contains("contents") || !(*json)["contents"].is_object()) {
      add(Fault::record_file_unreadable, path, "lists no contents");
      return;
    }
    for (const auto& [name, entry] : (*json)["contents"].items()) {
      const std::string where =
          entry.is_object() && entry.contains("path") && entry["path"].is_string()
              ? entry["path"].get<std::string>()
              : "";
      if (escapes(where)) {
        add(Fault::path_escapes, path, "a path leads out of the checkpoint: " + where);
      } else if (!stat_file(join_path(directory, where))) {
        add(Fault::file_missing, join_path(directory, where),
            name + " was saved here and is not there");
      }
    }
    if (json->contains("global_step") && (*json)["global_step"].is_number_integer() &&
        tree.iteration && (*json)["global_step"].get<std::int64_t>() != *tree.iteration) {
      add(Fault::records_disagree, path,
          "global_step is " + std::to_string((*json)["global_step"].get<std::int64_t>()) +
              " in the directory of step " + std::to_string(*tree.iteration));
    }
  }

  // Megatron-Bridge: train_state.pt, its copy at the root, run_config.yaml last of all.
  void bridge(const Tree& tree) {
    const std::string state = join_path(tree.directory, "train_state.pt"),
                      config = join_path(tree.directory, "run_config.yaml");
    if (!stat_file(config)) {
      add(Fault::commit_record_missing, config,
          "is written last and is not there: the save broke off while it was finished",
          Severity::warning);
    }
    if (!stat_file(state)) {
      add(Fault::file_missing, state, "holds the step and the samples consumed, and is not there");
      return;
    }
    const auto step = step_in(state);
    if (step && tree.iteration && *step != *tree.iteration) {
      add(Fault::records_disagree, state,
          "its step is " + std::to_string(*step) + " in the directory of iteration " +
              std::to_string(*tree.iteration));
    }
    if (const std::string latest = join_path(tree.root, "latest_train_state.pt");
        !tree.root.empty() && stat_file(latest)) {
      const auto latest_step = step_in(latest);
      if (latest_step && tree.tracked && *latest_step != *tree.tracked) {
        add(Fault::records_disagree, latest,
            "its step is " + std::to_string(*latest_step) + ", the tracker names " +
                std::to_string(*tree.tracked));
      }
    }
  }
  std::optional<std::int64_t> step_in(const std::string& path) {
    const std::map<std::string, double> values = scalar_tensors(path);
    const auto found = values.find("step");
    if (found == values.end()) {
      add(Fault::record_file_unreadable, path, "has no readable step", Severity::warning);
      return std::nullopt;
    }
    return static_cast<std::int64_t>(found->second);
  }

  void metadata_json(const Checkpoint& checkpoint) {
    const std::string path = join_path(checkpoint.directory, "metadata.json");
    const std::optional<Json> json = read_json(path);
    if (checkpoint.format != Format::torch_dist || !json) {
      return;
    }
    if (!json->is_object() || !json->contains("sharded_backend") ||
        !(*json)["sharded_backend"].is_string()) {
      add(Fault::record_file_unreadable, path, "names no sharded_backend");
      return;
    }
    const auto backend = (*json)["sharded_backend"].get<std::string>();
    if (backend == "fsdp_dtensor") {
      add(Fault::version_limits, path,
          "was made by a converter; with metadata.json the training loader takes this fsdp_dtensor "
          "checkpoint for torch_dist",
          Severity::warning);
    } else if (backend != "torch_dist") {
      add(Fault::records_disagree, path, "names the backend " + backend);
    }
    const bool common = checkpoint.item("common_state/shard_0_1") != nullptr,
               file = stat_file(join_path(checkpoint.directory, "common.pt")).has_value();
    if (!common && !file && checkpoint.has_metadata && checkpoint.role.empty()) {
      add(Fault::file_missing, join_path(checkpoint.directory, "common.pt"),
          "neither common.pt nor the key common_state is there", Severity::warning);
    }
  }

  void integrity(const Checkpoint& checkpoint, bool deep) {
    const std::string path = join_path(checkpoint.directory, "integrity.json");
    const std::optional<Json> json = read_json(path);
    if (!json) {
      return;
    }
    if (!json->is_object() || !json->contains("files") || !(*json)["files"].is_object()) {
      add(Fault::record_file_unreadable, path, "lists no files");
      return;
    }
    for (const auto& [name, digest] : (*json)["files"].items()) {
      const std::string file = join_path(checkpoint.directory, name);
      if (escapes(name)) {
        add(Fault::path_escapes, path, "names the file " + name);
      } else if (!stat_file(file)) {
        add(Fault::file_missing, file, "is listed in integrity.json and is not there");
      } else if (deep && json->value("algorithm", "sha256") == "sha256" && digest.is_string()) {
        if (const std::string is = sha256_of_file(file); is != lower(digest.get<std::string>())) {
          add(Fault::file_digest, file,
              "its SHA-256 begins " + is.substr(0, 16) + ", recorded is " +
                  digest.get<std::string>().substr(0, 16));
        }
      }
    }
  }

  // What the job said of itself against what is there.
  void arguments(const Checkpoint& checkpoint, const SavedArguments& saved, const Tree& tree) {
    const auto number = [&](const char* name) -> std::optional<std::int64_t> {
      const auto found = saved.arguments.find(name);
      const std::int64_t* value =
          found == saved.arguments.end() ? nullptr : found->second.if_integer();
      return value != nullptr ? std::optional(*value) : std::nullopt;
    };
    if (const auto found = saved.state.find("iteration");
        found != saved.state.end() && tree.iteration && !tree.release) {
      if (const std::int64_t* iteration = found->second.if_integer();
          iteration != nullptr && *iteration != *tree.iteration) {
        add(Fault::records_disagree, saved.file,
            "holds iteration " + std::to_string(*iteration) + " in the directory of iteration " +
                std::to_string(*tree.iteration));
      }
    }
    const auto saved_without = saved.arguments.find("no_save_optim");
    const bool* flag =
        saved_without == saved.arguments.end() ? nullptr : saved_without->second.if_bool();
    const bool wanted = saved_without != saved.arguments.end() &&
                        (saved_without->second.is_null() || (flag != nullptr && !*flag));
    if (wanted && checkpoint.role.empty() && checkpoint.has_metadata &&
        !has_optimizer(checkpoint)) {
      add(Fault::optimizer_absent, checkpoint.directory,
          "no key belongs to an optimizer, and the saved arguments do not say no_save_optim");
    }
    if (checkpoint.format == Format::legacy) {
      const std::int64_t tp = number("tensor_model_parallel_size").value_or(1),
                         pp = number("pipeline_model_parallel_size").value_or(1),
                         ep = number("expert_model_parallel_size").value_or(1);
      const auto found = checkpoint.facts.find("model parallel ranks");
      const std::int64_t there =
          found == checkpoint.facts.end() ? 0 : to_integer(found->second).value_or(0);
      if (tp > 0 && pp > 0 && ep > 0 && tp < 100'000 && pp < 100'000 && ep < 100'000 &&
          there < tp * pp * ep) {
        add(Fault::rank_files_missing, checkpoint.directory,
            std::to_string(there) + " of the " + std::to_string(tp * pp * ep) +
                " directories of tensor size " + std::to_string(tp) + ", pipeline size " +
                std::to_string(pp) + (ep > 1 ? ", expert size " + std::to_string(ep) : "") +
                " are there");
      }
      return;
    }
    // An encoder beside the decoder has a number of its own, and some architectures have layers
    // without parameters.
    const auto is_set = [&](const char* name) {
      const auto found = saved.arguments.find(name);
      return found != saved.arguments.end() && !found->second.is_null();
    };
    if (is_set("decoder_num_layers") || is_set("heterogeneous_layers_config_path") ||
        is_set("heterogeneous_layers_config_encoded_json")) {
      return;
    }
    if (const auto layers = number("num_layers"); layers && checkpoint.has_metadata) {
      if (const std::optional<std::int64_t> there = layer_count(checkpoint);
          there && *there != *layers) {
        add(Fault::layers_missing, checkpoint.directory,
            std::to_string(*there) + " layers are there, the saved arguments say num_layers " +
                std::to_string(*layers));
      }
    }
  }

  // Megatron stacks equal layers along a leading dimension, or numbers them.
  static std::optional<std::int64_t> layer_count(const Checkpoint& checkpoint) {
    std::optional<std::int64_t> stacked, last;
    for (const Tensor& tensor : checkpoint.tensors) {
      std::string_view name = tensor.name;
      for (const std::string_view prefix : {"model.", "module."}) {
        name.remove_prefix(name.starts_with(prefix) ? prefix.size() : 0);
      }
      if (!name.starts_with("decoder.layers.")) {
        continue;
      }
      name.remove_prefix(15);
      if (const std::optional<long long> number = to_integer(name.substr(0, name.find('.')))) {
        last = std::max<std::int64_t>(last.value_or(-1), *number);
      } else if (name.starts_with("self_attention.linear_qkv.weight") && !tensor.shape.empty()) {
        stacked = tensor.shape[0];
      }
    }
    return stacked ? stacked : last ? std::optional(*last + 1) : std::nullopt;
  }
};

}  // namespace

std::vector<Finding> check_tree(const Tree& tree) {
  Records records;
  try {
    if (tree.layout == "verl") {
      // One for each role: actor/, critic/; or the iteration itself where there is but one model.
      records.contents(tree, tree.directory);
      for (const char* role : {"actor", "critic", "ref", "reward"}) {
        if (const std::string below = join_path(tree.directory, role); stat_file(below)) {
          records.contents(tree, below);
        }
      }
    } else if (tree.layout == "bridge") {
      records.bridge(tree);
    }
  } catch (const Json::exception& error) {
    records.add(Fault::record_file_unreadable, tree.directory, error.what());
  }
  return std::move(records.findings);
}

std::vector<Finding> check_records(const Checkpoint& checkpoint,
                                   const std::optional<SavedArguments>& saved, const Tree& tree,
                                   bool deep) {
  Records records;
  try {
    records.metadata_json(checkpoint);
    records.integrity(checkpoint, deep);
  } catch (const Json::exception& error) {
    records.add(Fault::record_file_unreadable, checkpoint.directory, error.what());
  } catch (const Error& error) {
    records.add(Fault::unreadable_bytes, checkpoint.directory, error.what());
  }
  if (saved) {
    records.arguments(checkpoint, *saved, tree);
  }
  return std::move(records.findings);
}

}  // namespace shardlint::checkpoint
