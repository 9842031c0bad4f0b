#pragma once
// Linting with a project's settings: files are grouped by what their settings say of them.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "discover/settings.h"
#include "shardlint/lint.h"

namespace CLI {
class App;
}

namespace shardlint {

struct ProjectFlags {
  std::vector<std::string> config;  // a path, or KEY=VALUE
  bool isolated = false, force_exclude = false;
};

void add_project_flags(CLI::App& app, ProjectFlags& flags);

class Project {
 public:
  // Throws Error when a settings file is wrong.
  Project(const ProjectFlags& flags, Options command_line);

  const Settings& settings_of(const std::string& path);
  Options options_of(const std::string& path) {
    return options_for(settings_of(path), path, command_line_);
  }
  // Excluded files that a walk meets, or that are named with --force-exclude, are left out.
  Result lint_paths(const std::vector<std::string>& paths);
  // `unsaved` stands for files on disk; the text of `name` is among them or given.
  Result lint_text(const std::string& name, std::string_view text,
                   const std::map<std::string, std::string>& unsaved = {});

 private:
  std::shared_ptr<const Settings> shared_settings(const std::string& path);

  ProjectFlags flags_;
  Options command_line_;
  RealDisk disk_;
  SettingsFinder finder_;
  std::shared_ptr<const Settings> given_;  // --config, --isolated; null: looked for
  std::map<const Settings*, std::shared_ptr<const Settings>> adjusted_;  // with --config KEY=VALUE
};

}  // namespace shardlint
