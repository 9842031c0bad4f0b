#include "cli/project.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "diagnostics/sort.h"
#include "discover/discover.h"
#include "lint/targets.h"

namespace shardlint {
namespace {

bool is_assignment(const std::string& text) {
  return text.find('=') != std::string::npos;
}

void add(Result& into, Result&& more) {
  const auto move_all = [](auto& from, auto& to) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  };
  move_all(more.diagnostics, into.diagnostics);
  move_all(more.suppressed, into.suppressed);
  move_all(more.errors, into.errors);
  move_all(more.linted, into.linted);
  for (Timing& timing : more.timings) {  // of each group of files with its own settings
    const auto same = std::find_if(into.timings.begin(), into.timings.end(), [&](const Timing& t) {
      return t.phase == timing.phase && t.name == timing.name;
    });
    if (same == into.timings.end()) {
      into.timings.push_back(std::move(timing));
    } else {
      same->calls += timing.calls;
      same->nanoseconds += timing.nanoseconds;
    }
  }
  into.files += more.files;
  into.skipped += more.skipped;
  move_all(more.targets, into.targets);
  move_all(more.notes, into.notes);
}

}  // namespace

void add_project_flags(CLI::App& app, ProjectFlags& flags) {
  app.add_option("--config", flags.config, "a settings file, or one setting")
      ->type_name("FILE|KEY=VALUE")
      ->allow_extra_args(false)
      ->group("Project");
  app.add_flag("--isolated", flags.isolated, "look for no settings file and no pinned versions")
      ->group("Project");
  app.add_flag("--force-exclude", flags.force_exclude,
               "leave out excluded files even when they are named")
      ->group("Project");
}

Project::Project(const ProjectFlags& flags, Options command_line)
    : flags_(flags), command_line_(std::move(command_line)), finder_(disk_) {
  command_line_.pins = !flags_.isolated;
  for (const std::string& config : flags_.config) {
    if (!is_assignment(config)) {
      given_ = std::make_shared<Settings>(read_settings(config, disk_));
    }
  }
  if (flags_.isolated && !given_) {
    given_ = std::make_shared<Settings>();
  }
}

std::shared_ptr<const Settings> Project::shared_settings(const std::string& path) {
  const std::shared_ptr<const Settings> found = given_ ? given_ : finder_.find(path);
  std::shared_ptr<const Settings>& out = adjusted_[found.get()];
  if (!out) {
    Settings settings = *found;
    for (const std::string& config : flags_.config) {
      if (is_assignment(config)) {
        settings = with_setting(std::move(settings), config);
      }
    }
    out = std::make_shared<Settings>(std::move(settings));
  }
  return out;
}

const Settings& Project::settings_of(const std::string& path) {
  return *shared_settings(path);
}

Result Project::lint_paths(const std::vector<std::string>& paths) {
  const Discovery found = discover(paths, disk_);
  Result out;
  for (const Discovery::Failure& failure : found.failures) {
    out.errors.push_back({failure.path, failure.message});
  }
  // Files of one settings file, one set of overrides, named or walked, are linted together.
  struct Group {
    const Settings* settings = nullptr;
    bool walked = false;
    std::vector<std::string> files;
  };
  std::map<std::string, Group> groups;
  for (const FoundFile& file : found.files) {
    const Settings& settings = settings_of(file.path);
    const bool can_exclude = !file.named || flags_.force_exclude || settings.force_exclude;
    if (can_exclude && is_excluded(settings, file.path)) {
      continue;
    }
    std::string key = settings.file + '\n' + (file.named ? "named" : "walked");
    for (const Settings::Override& override : settings.overrides) {
      key += std::any_of(override.paths.begin(), override.paths.end(),
                         [&](const std::string& glob) { return covers(settings, glob, file.path); })
                 ? '1'
                 : '0';
    }
    Group& group = groups[key];
    group.settings = &settings;
    group.walked = !file.named;
    group.files.push_back(file.path);
  }
  for (auto& [key, group] : groups) {
    Options options = options_for(*group.settings, group.files.front(), command_line_);
    options.walked = group.walked;
    Result result = lint(group.files, options);
    apply_settings(*group.settings, result.diagnostics);
    add(out, std::move(result));
  }
  sort_diagnostics(out.diagnostics);
  sort_suppressed(out.suppressed);
  std::sort(out.linted.begin(), out.linted.end());
  sort_targets(out);
  return out;
}

Result Project::lint_text(const std::string& name, std::string_view text,
                          const std::map<std::string, std::string>& unsaved) {
  Options options = options_of(name);
  options.unsaved = unsaved;
  Result out = lint(name, text, options);
  apply_settings(settings_of(name), out.diagnostics);
  sort_diagnostics(out.diagnostics);
  return out;
}

}  // namespace shardlint
