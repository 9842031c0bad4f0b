#pragma once
// A project's settings: .shardlint.toml, shardlint.toml, or [tool.shardlint] in pyproject.toml. The
// closest file to what is linted wins, nothing is merged; `extend` names a file to start from.
// docs/configuration.md describes the keys, docs/shardlint.schema.json says them to editors.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "shardlint/diagnostic.h"
#include "shardlint/lint.h"

namespace shardlint {

// Options of the job that can differ by path.
struct JobSettings {
  std::vector<std::string> targets, set, env;
  std::optional<int> world_size;
  std::optional<std::string> gpu, framework;
  std::optional<Options::World> world;
};

struct Settings {
  std::string file;    // where they were read; empty: nowhere, all is built in
  std::string folder;  // what their paths and globs are relative to
  std::optional<std::vector<std::string>> select;
  std::vector<std::string> ignore, rules, source_roots, exclude, not_ignorable;
  std::map<std::string, std::vector<std::string>> per_file_ignores;  // glob -> codes or names
  std::map<std::string, std::string> severity;  // code or name -> error | warning | info | off
  bool require_reason = false, force_exclude = false;
  std::optional<std::string> fail_on, output_format, baseline;
  JobSettings job;
  struct Override {
    std::vector<std::string> paths;  // globs
    JobSettings job;
  };
  std::vector<Override> overrides;             // later ones win
  std::map<std::string, std::string> origins;  // key -> "file:line"
};

// Reads one file. Throws Error, with file and line, on unknown keys and wrong types.
Settings read_settings(const std::string& path, const Disk& disk);

// `settings` with one key more, "KEY=VALUE" in TOML; a value that is no TOML is taken as a string.
Settings with_setting(Settings settings, std::string_view assignment);

// Finds the settings of files, each folder looked at once. Thread-confined.
class SettingsFinder {
 public:
  explicit SettingsFinder(const Disk& disk) : disk_(disk) {}
  // Never null; the same pointer for files of the same settings.
  std::shared_ptr<const Settings> find(const std::string& path);

 private:
  std::shared_ptr<const Settings> of_folder(const std::string& folder);
  const Disk& disk_;
  std::map<std::string, std::shared_ptr<const Settings>> folders_;
  std::shared_ptr<const Settings> none_ = std::make_shared<Settings>();
};

// A path as people read it: from the folder that we are in where it lies below.
std::string path_from_here(const std::string& path);

// Whether a glob of the settings covers a file: without a slash it is held against each part of
// the path below the settings' folder, else against the path from there.
bool covers(const Settings& settings, std::string_view glob, const std::string& path);

// The options for one file: the settings', with what the command line says on top.
Options options_for(const Settings& settings, const std::string& path, const Options& command_line);

bool is_excluded(const Settings& settings, const std::string& path);

// Leaves out what per-file-ignores and severity "off" silence, and sets severities.
void apply_settings(const Settings& settings, std::vector<Diagnostic>& diagnostics);

}  // namespace shardlint
