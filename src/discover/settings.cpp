#include "discover/settings.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "discover/settings_keys.h"

namespace shardlint {
namespace {

namespace fs = std::filesystem;

constexpr int max_extends = 16;

toml::table parse(const std::string& path, const Disk& disk) {
  const std::optional<std::string> text = disk.read(path);
  if (!text) {
    throw Error(fmt::format("cannot read the settings {}", path));
  }
  try {
    return toml::parse(*text, path);
  } catch (const toml::parse_error& error) {
    throw Error(fmt::format("{}:{}:{}: {}", path, error.source().begin.line,
                            error.source().begin.column, error.description()));
  }
}

// The table of our settings in the file: null when a pyproject.toml has none.
const toml::table* our_table(const toml::table& root, const std::string& path) {
  if (file_name(path) != "pyproject.toml") {
    return &root;
  }
  return root["tool"]["shardlint"].as_table();
}

void read_into(Settings& settings, const std::string& path, const Disk& disk, int depth) {
  if (depth > max_extends) {
    throw Error(fmt::format("{}: `extend` goes round in circles", path));
  }
  const toml::table root = parse(path, disk);
  const toml::table* table = our_table(root, path);
  if (!table) {
    throw Error(fmt::format("{} has no [tool.shardlint]", path));
  }
  const std::string folder = parent_path(path);
  if (const auto base = (*table)["extend"].value<std::string>()) {
    read_into(settings, join_path(folder, *base), disk, depth + 1);
  }
  settings.file = path;
  settings.folder = folder;
  read_table(*table, path, settings);
}

std::string absolute(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

template <typename T>
void take(std::optional<T>& into, const std::optional<T>& from) {
  if (from) {
    into = from;
  }
}

// Later entries of a list win over earlier ones, so layers are appended.
void lay_over(JobSettings& into, const JobSettings& over) {
  into.targets.insert(into.targets.end(), over.targets.begin(), over.targets.end());
  into.set.insert(into.set.end(), over.set.begin(), over.set.end());
  into.env.insert(into.env.end(), over.env.begin(), over.env.end());
  take(into.world_size, over.world_size);
  take(into.gpu, over.gpu);
  take(into.framework, over.framework);
  take(into.world, over.world);
}

// One value a name: the last one, as `name` cuts it from "name==value".
std::vector<std::string> last_of_each(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> by_name;
  std::vector<std::string> order, out;
  for (const std::string& pair : pairs) {
    const std::string name = pair.substr(0, pair.find('='));
    if (by_name.insert_or_assign(name, pair).second) {
      order.push_back(name);
    }
  }
  for (const std::string& name : order) {
    out.push_back(by_name[name]);
  }
  return out;
}

void append(std::vector<std::string>& into, const std::vector<std::string>& more) {
  into.insert(into.end(), more.begin(), more.end());
}

bool names(const std::string& rule, const Diagnostic& d) {
  return rule == "ALL" || rule == d.name || (!rule.empty() && d.code.starts_with(rule));
}

}  // namespace

Settings read_settings(const std::string& path, const Disk& disk) {
  Settings settings;
  read_into(settings, path, disk, 0);
  return settings;
}

Settings with_setting(Settings settings, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string key(trim(assignment.substr(0, equals)));
  const std::string value(trim(assignment.substr(equals + 1)));
  toml::table table;
  try {
    table = toml::parse(fmt::format("{} = {}", key, value), std::string_view("--config"));
  } catch (const toml::parse_error&) {
    table.clear();
    table.insert(key, value);
  }
  read_table(table, "--config", settings);
  return settings;
}

std::shared_ptr<const Settings> SettingsFinder::find(const std::string& path) {
  return of_folder(parent_path(absolute(path)));
}

std::shared_ptr<const Settings> SettingsFinder::of_folder(const std::string& folder) {
  const auto known = folders_.find(folder);
  if (known != folders_.end()) {
    return known->second;
  }
  std::shared_ptr<const Settings> out;
  for (const char* name : {".shardlint.toml", "shardlint.toml"}) {
    const std::string path = join_path(folder, name);
    if (!out && disk_.is_file(path)) {
      out = std::make_shared<Settings>(read_settings(path, disk_));
    }
  }
  const std::string project = join_path(folder, "pyproject.toml");
  if (!out && disk_.is_file(project)) {
    // Another tool's pyproject.toml may be anything; only one that names us is ours to judge.
    const std::string text = disk_.read(project).value_or("");
    if (text.find("shardlint") != std::string::npos && our_table(parse(project, disk_), project)) {
      out = std::make_shared<Settings>(read_settings(project, disk_));
    }
  }
  if (!out) {
    const std::string parent = parent_path(folder);
    out = parent == folder || parent == "." ? none_ : of_folder(parent);
  }
  return folders_[folder] = out;
}

std::string path_from_here(const std::string& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const std::string below = error ? "" : fs::path(path).lexically_relative(here).generic_string();
  return below.empty() || below.starts_with("..") ? path : below;
}

bool covers(const Settings& settings, std::string_view glob, const std::string& path) {
  const std::string below =
      fs::path(absolute(path)).lexically_relative(absolute(settings.folder)).generic_string();
  if (glob.starts_with("./")) {
    glob.remove_prefix(2);
  }
  if (glob.find('/') == std::string_view::npos) {
    const auto parts = split(below, '/');
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return glob_match(glob, part); });
  }
  return glob_match(glob, below) ||
         glob_match(std::string(glob) + (glob.ends_with('/') ? "*" : "/*"), below);
}

Options options_for(const Settings& settings, const std::string& path,
                    const Options& command_line) {
  JobSettings job = settings.job;
  for (const Settings::Override& override : settings.overrides) {
    if (std::any_of(override.paths.begin(), override.paths.end(),
                    [&](const std::string& glob) { return covers(settings, glob, path); })) {
      lay_over(job, override.job);
    }
  }
  Options out = command_line;
  out.targets = job.targets;
  out.set = job.set;
  out.env = job.env;
  append(out.targets, command_line.targets);
  append(out.set, command_line.set);
  append(out.env, command_line.env);
  out.targets = last_of_each(out.targets);
  for (const std::string& target : job.targets) {
    const auto& said = command_line.targets;
    if (std::find(said.begin(), said.end(), target) == said.end()) {
      const auto at = settings.origins.find("targets");
      const auto over = settings.origins.find("overrides");
      out.target_places[target] = path_from_here(at != settings.origins.end()     ? at->second
                                                 : over != settings.origins.end() ? over->second
                                                                                  : settings.file);
    }
  }
  out.set = last_of_each(out.set);
  out.env = last_of_each(out.env);
  if (out.select.empty() && settings.select) {
    out.select = *settings.select;
  }
  append(out.ignore, settings.ignore);
  out.rule_folders = settings.rules;
  append(out.rule_folders, command_line.rule_folders);
  append(out.source_roots, settings.source_roots);
  append(out.not_ignorable, settings.not_ignorable);
  out.require_reason = out.require_reason || settings.require_reason;
  if (!out.world_size) {
    out.world_size = job.world_size;
  }
  if (out.gpu.empty()) {
    out.gpu = job.gpu.value_or("");
  }
  if (out.framework.empty()) {
    out.framework = job.framework.value_or("");
  }
  if (out.world == Options::World::automatic) {
    out.world = job.world.value_or(Options::World::automatic);
  }
  return out;
}

bool is_excluded(const Settings& settings, const std::string& path) {
  return std::any_of(settings.exclude.begin(), settings.exclude.end(),
                     [&](const std::string& glob) { return covers(settings, glob, path); });
}

void apply_settings(const Settings& settings, std::vector<Diagnostic>& diagnostics) {
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    return std::any_of(
        settings.per_file_ignores.begin(), settings.per_file_ignores.end(), [&](const auto& entry) {
          return covers(settings, entry.first, d.where.file) &&
                 std::any_of(entry.second.begin(), entry.second.end(),
                             [&](const std::string& rule) { return names(rule, d); });
        });
  });
  std::erase_if(diagnostics, [&](Diagnostic& d) {
    // The most particular entry wins: a whole code or name over a code's beginning over ALL.
    const std::string* level = nullptr;
    std::size_t best = 0;
    for (const auto& [rule, value] : settings.severity) {
      const std::size_t weight = rule == "ALL" ? 1 : rule == d.name ? 100 : 1 + rule.size();
      if (names(rule, d) && weight > best) {
        level = &value;
        best = weight;
      }
    }
    if (level && *level != "off") {
      d.severity = *level == "error"     ? Severity::error
                   : *level == "warning" ? Severity::warning
                                         : Severity::info;
    }
    return level && *level == "off";
  });
}

}  // namespace shardlint
