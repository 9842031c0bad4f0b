// shardlint resolve FILE...: the effective configuration, each value with its origin.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/effective.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"

namespace shardlint {
namespace {

struct Wanted {
  bool changed = false, written = false;
  std::vector<std::string> patterns;

  bool holds(const EffectiveKey& key) const {
    return (!changed || key.changed()) && (!written || key.written()) && key_wanted(patterns, key);
  }
};

std::string text(const Effective& effective, const Wanted& wanted) {
  std::vector<const EffectiveKey*> keys;
  std::size_t widest = 0;
  for (const EffectiveKey& key : effective.keys) {
    if (wanted.holds(key)) {
      keys.push_back(&key);
      widest = std::max(widest, key.key.size() + value_text(key).size() + 3);
    }
  }
  std::string out = fmt::format("# {}\n", title(effective));
  for (const std::string& refused : effective.refused) {
    out += fmt::format("# upstream refuses this: {}\n", refused);
  }
  widest = std::min<std::size_t>(widest, 60);
  for (const EffectiveKey* key : keys) {
    const std::string setting = fmt::format("{} = {}", key->key, value_text(*key));
    out += fmt::format("{:<{}}  # {}\n", setting, widest, origin_text(*key));
  }
  return out;
}

nlohmann::ordered_json document(const std::vector<Effective>& all, const Wanted& wanted) {
  nlohmann::ordered_json out = {{"version", 1},
                                {"configurations", nlohmann::ordered_json::array()}};
  for (const Effective& effective : all) {
    nlohmann::ordered_json item = configuration_json(effective);
    item["keys"] = nlohmann::ordered_json::array();
    for (const EffectiveKey& key : effective.keys) {
      if (wanted.holds(key)) {
        item["keys"].push_back(key_json(key));
      }
    }
    out["configurations"].push_back(std::move(item));
  }
  return out;
}

}  // namespace

int run_resolve(Arguments arguments) {
  const auto [own, foreign, dashes] = split_at_dashes(arguments);
  std::vector<std::string> files;
  std::string format = "text";
  Options options;
  ProjectFlags project_flags;
  Wanted wanted;
  CLI::App app(
      "Every key of a configuration with the value that will be in force and where it comes from: "
      "a file and line, a default, or a step of the framework that rewrites it.",
      "shardlint resolve");
  app.footer("shardlint resolve [OPTIONS] -- FLAGS... takes a Megatron-LM argument list.");
  app.add_option("files", files, "files; FILE::INSTANCE is one configuration of several");
  app.add_flag("--changed", wanted.changed, "only what will differ from what was written");
  app.add_flag("--written", wanted.written, "only what somebody wrote");
  app.add_option("--key", wanted.patterns, "only keys like this; * stands for anything")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  app.add_option("--output-format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  add_lint_flags(app, options);
  add_project_flags(app, project_flags);
  if (const std::optional<int> code = parse(app, own)) {
    return *code;
  }
  if (files.empty() == foreign.empty()) {
    throw Error(files.empty() ? "say which files, or an argument list after `--`"
                              : "files and an argument list cannot be resolved in one run");
  }
  Project project(project_flags, options);
  std::vector<Effective> all;
  if (!foreign.empty()) {
    all = resolve_arguments(foreign, project.options_of("."));
  }
  for (const std::string& file : files) {
    for (Effective& each : resolve_named(file, project)) {
      all.push_back(std::move(each));
    }
  }
  if (format == "json") {
    fmt::print("{}\n", document(all, wanted).dump(2));
    return 0;
  }
  for (const Effective& effective : all) {
    fmt::print("{}{}", &effective == all.data() ? "" : "\n", text(effective, wanted));
  }
  return 0;
}

}  // namespace shardlint
