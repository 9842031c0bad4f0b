#pragma once
// What `shardlint check` can be told.

#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/project.h"
#include "shardlint/lint.h"

namespace shardlint {

struct CheckFlags {
  Options lint;
  ProjectFlags project;
  std::vector<std::string> paths;
  std::string stdin_filename = "stdin.yaml";
  // output; an empty format is the settings', else full
  std::string format, file;
  std::vector<std::string> outputs;
  Color color = Color::automatic;
  bool statistics = false, no_summary = false, quiet = false, verbose = false;
  bool sarif_unknowns = false, show_files = false, watch = false;
  // exit code; an empty level is the settings', else error
  std::string fail_on;
  bool fail_on_unknown = false, fail_on_no_files = false, exit_zero = false;
  // fixes
  bool fix = false, unsafe_fixes = false, diff = false, fix_only = false, show_fixes = false;
  bool exit_non_zero_on_fix = false;
  std::optional<std::string> add_ignore;  // the reason
  // baseline; an empty path is the settings'
  std::string baseline;
  bool write_baseline = false, prune_baseline = false;

  bool fixing() const { return fix || fix_only || diff || add_ignore; }
};

void add_check_flags(CLI::App& app, CheckFlags& flags);

}  // namespace shardlint
