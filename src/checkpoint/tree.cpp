#include "checkpoint/tree.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/check_parts.h"
#include "checkpoint/file.h"
#include "checkpoint/open.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::string_view tracker_name = "latest_checkpointed_iteration.txt";

bool is_directory(const std::string& path) {
  const std::optional<FileInfo> status = stat_file(path);
  return status && status->is_directory;
}

std::optional<std::int64_t> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  const std::optional<long long> number = to_integer(name.substr(prefix.size()));
  return number && *number >= 0 ? std::optional<std::int64_t>(*number) : std::nullopt;
}

std::vector<Iteration> iterations_of(const std::string& root) {
  std::vector<Iteration> found;
  for (const std::string& name : RealDisk().list(root)) {
    std::optional<std::int64_t> number = number_after(name, "iter_");
    if (!number) {
      number = number_after(name, "global_step_");
    }
    if (number && is_directory(join_path(root, name))) {
      found.push_back({name, *number});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Iteration& a, const Iteration& b) { return a.number < b.number; });
  return found;
}

void add_parts(const std::string& directory, const std::string& role, int depth,
               std::vector<TreePart>& parts) {
  // In an export beside a checkpoint only weights count; configuration and tokenizer are no part.
  const Format format = detect_format(directory);
  if (format != Format::unknown) {
    parts.push_back({directory, role});
  }
  if (depth == 0) {
    return;
  }
  for (const std::string_view name :
       {"actor", "critic", "ref", "model", "optimizer", "extra", "dist_ckpt", "huggingface", "hf",
        "adapter", "modelopt_state", "sharded"}) {
    const std::string below = join_path(directory, name);
    if (is_directory(below)) {
      const bool plain = name == "dist_ckpt";
      add_parts(below,
                plain          ? role
                : role.empty() ? std::string(name)
                               : role + "/" + std::string(name),
                depth - 1, parts);
    }
  }
}

class Resolver {
 public:
  explicit Resolver(const std::string& path) { tree_.path = path; }

  Tree run() {
    if (!stat_file(tree_.path)) {
      throw Error("cannot open " + tree_.path + ": no such file or directory");
    }
    tree_.iterations = iterations_of(tree_.path);
    const bool tracker = stat_file(join_path(tree_.path, tracker_name)).has_value();
    const bool release = is_directory(join_path(tree_.path, "release"));
    if (tracker || !tree_.iterations.empty() || release) {
      root();
    } else {
      tree_.directory = tree_.path;
      tree_.layout = "directory";
      const std::string name = file_name(normal_path(tree_.path));
      tree_.iteration = number_after(name, "iter_");
      if (!tree_.iteration) {
        tree_.iteration = number_after(name, "global_step_");
      }
    }
    if (!tree_.directory.empty()) {
      tree_.parts = is_directory(tree_.directory) ? parts_of(tree_.directory)
                                                  : std::vector<TreePart>{{tree_.directory, ""}};
      name_layout();
    }
    if (tree_.parts.empty() && tree_.findings.empty()) {
      throw Error("cannot open " + tree_.path + ": there is no checkpoint of a known format in it");
    }
    return std::move(tree_);
  }

 private:
  void add(Fault fault, const std::string& file, std::string message,
           std::optional<Severity> severity = {}) {
    tree_.findings.push_back({fault, file, {}, "", std::move(message), severity});
  }

  std::string directory_of(std::int64_t number) const {
    for (const Iteration& iteration : tree_.iterations) {
      if (iteration.number == number) {
        return join_path(tree_.path, iteration.name);
      }
    }
    return "";
  }

  void root() {
    tree_.root = tree_.path;
    tree_.layout = "megatron";
    const std::string path = join_path(tree_.path, tracker_name);
    const std::optional<std::string> text = read_small_file(path, 1 << 16);
    if (!text) {
      add(Fault::tracker_missing, path, "there are iterations but no tracker file");
      newest();
      return;
    }
    const std::string_view word = trim(*text);
    if (word == "release") {
      tree_.release = true;
      tree_.directory = join_path(tree_.path, "release");
      if (!is_directory(tree_.directory)) {
        add(Fault::tracker_names_absent, path, "names release, which is not there");
        newest();
      }
      return;
    }
    const std::optional<long long> number = to_integer(word);
    if (!number || *number < 0) {
      add(Fault::tracker_invalid, path,
          word.empty()
              ? "is empty"
              : "holds \"" + std::string(word.substr(0, 40)) + "\" instead of an iteration");
      newest();
      return;
    }
    tree_.tracked = *number;
    tree_.directory = directory_of(*number);
    if (tree_.directory.empty()) {
      add(Fault::tracker_names_absent, path,
          "names iteration " + std::to_string(*number) + ", which is not there" + complete_text());
      newest();
      return;
    }
    tree_.iteration = *number;
    if (!tree_.iterations.empty() && tree_.iterations.back().number > *number) {
      const Iteration& last = tree_.iterations.back();
      const std::string directory = join_path(tree_.path, last.name);
      if (looks_complete(directory)) {
        add(Fault::tracker_not_newest, path,
            "names iteration " + std::to_string(*number) + ", but " + last.name + " is complete");
      } else {
        add(Fault::iteration_unfinished, directory,
            "is newer than iteration " + std::to_string(*number) +
                " that the tracker names, and not complete",
            Severity::warning);
      }
    }
  }

  // Without a usable tracker the newest complete iteration is looked at.
  void newest() {
    for (auto at = tree_.iterations.rbegin(); at != tree_.iterations.rend(); ++at) {
      const std::string directory = join_path(tree_.path, at->name);
      if (tree_.directory.empty() || looks_complete(directory)) {
        tree_.directory = directory;
        tree_.iteration = at->number;
        if (looks_complete(directory)) {
          return;
        }
      }
    }
  }

  std::string complete_text() const {
    for (auto at = tree_.iterations.rbegin(); at != tree_.iterations.rend(); ++at) {
      if (looks_complete(join_path(tree_.path, at->name))) {
        return "; the newest complete one is " + at->name;
      }
    }
    return "";
  }

  void name_layout() {
    const auto has = [&](std::string_view name) {
      return stat_file(join_path(tree_.directory, name)).has_value();
    };
    if (has("run_config.yaml") || has("train_state.pt") ||
        (!tree_.root.empty() && stat_file(join_path(tree_.root, "latest_train_state.pt")))) {
      tree_.layout = "bridge";
    } else if (has("ckpt_contents.json") || has("actor") || has("critic") ||
               has("fsdp_config.json") || file_name(tree_.directory).starts_with("global_step_")) {
      tree_.layout = "verl";
    }
  }

  Tree tree_;
};

}  // namespace

std::vector<TreePart> parts_of(const std::string& directory) {
  std::vector<TreePart> parts;
  add_parts(directory, "", 4, parts);
  return parts;
}

bool looks_complete(const std::string& directory) {
  const std::vector<TreePart> parts = parts_of(directory);
  const auto sound = [](const std::vector<Finding>& findings) {
    return std::none_of(findings.begin(), findings.end(), [](const Finding& f) {
      return f.severity.value_or(info(f.fault).severity) == Severity::error;
    });
  };
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](const TreePart& part) {
    try {
      const Checkpoint checkpoint = open_checkpoint(part.directory);
      return checkpoint.has_metadata && sound(checkpoint.findings) &&
             sound(check_files(checkpoint, survey(checkpoint)));
    } catch (const Error&) {
      return false;
    }
  });
}

Tree resolve(const std::string& path) {
  return Resolver(path).run();
}

}  // namespace shardlint::checkpoint
