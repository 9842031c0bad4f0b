// shardlint config [PATH]: the settings in force for a path, and where each one came from.
#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "cli/project.h"
#include "lint/targets.h"

namespace shardlint {
namespace {

void show(std::string_view key, const std::string& value, const std::string& origin) {
  fmt::print("{:<18} {:<40} # {}\n", key, value.empty() ? "-" : value, origin);
}

std::string world_name(Options::World world) {
  switch (world) {
    case Options::World::automatic:
      return "auto";
    case Options::World::open:
      return "open";
    case Options::World::closed:
      return "closed";
  }
  return "auto";
}

}  // namespace

int run_config(Arguments arguments) {
  std::string path = ".";
  Options command_line;
  ProjectFlags flags;
  CLI::App app("The settings in force for a file or folder, and where they come from.",
               "shardlint config");
  app.add_option("path", path, "a file or folder (default: .)");
  add_lint_flags(app, command_line);
  add_project_flags(app, flags);
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  if (RealDisk().is_directory(path)) {
    path = join_path(path, "any.yaml");  // settings are looked for beside a file
  }
  Project project(flags, command_line);
  const Settings& settings = project.settings_of(path);
  const Options options = project.options_of(path);
  fmt::print("# settings: {}\n", settings.file.empty() ? "built in" : settings.file);
  const auto row = [&](const std::string& key, const std::string& value, bool on_command_line) {
    const auto origin = settings.origins.find(key);
    std::string from = origin == settings.origins.end() ? "built in" : origin->second;
    if (origin == settings.origins.end() && !settings.overrides.empty() && !value.empty() &&
        settings.origins.count("overrides")) {
      from = settings.origins.at("overrides") + " [[overrides]]";
    }
    show(key, value, on_command_line ? "command line" : from);
  };
  row("select", options.select.empty() ? "ALL" : join(options.select, ", "),
      !command_line.select.empty());
  row("ignore", join(options.ignore, ", "), !command_line.ignore.empty());
  row("rules", join(options.rule_folders, ", "), !command_line.rule_folders.empty());
  row("targets", join(options.targets, ", "), !command_line.targets.empty());
  if (options.pins) {
    const RealDisk disk;
    PinnedOptions pinned(disk, options);
    const Options& with = pinned.of(path);
    for (std::size_t i = options.targets.size(); i < with.targets.size(); ++i) {  // those added
      show("targets", with.targets[i], with.target_places.at(with.targets[i]));
    }
  }
  row("world-size", options.world_size ? std::to_string(*options.world_size) : "",
      command_line.world_size.has_value());
  row("gpu", options.gpu, !command_line.gpu.empty());
  row("framework", options.framework, !command_line.framework.empty());
  row("world", world_name(options.world), command_line.world != Options::World::automatic);
  row("env", join(options.env, ", "), !command_line.env.empty());
  row("set", join(options.set, ", "), !command_line.set.empty());
  row("source-roots", join(options.source_roots, ", "), !command_line.source_roots.empty());
  row("exclude", join(settings.exclude, ", "), false);
  row("not-ignorable", join(settings.not_ignorable, ", "), false);
  row("require-reason", settings.require_reason ? "true" : "false", false);
  row("baseline", settings.baseline.value_or(""), false);
  row("fail-on", settings.fail_on.value_or("error"), false);
  row("output-format", settings.output_format.value_or("full"), false);
  for (const auto& [rule, level] : settings.severity) {
    show("severity." + rule, level, settings.origins.at("severity"));
  }
  for (const auto& [glob, codes] : settings.per_file_ignores) {
    show("per-file-ignores", fmt::format("{}: {}", glob, fmt::join(codes, ", ")),
         settings.origins.at("per-file-ignores"));
  }
  return 0;
}

}  // namespace shardlint
