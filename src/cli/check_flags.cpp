#include "cli/check_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>

#include "cli/lint_flags.h"

namespace shardlint {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void flag(CLI::App& app, const char* group, const char* name, bool& into, const char* help) {
  app.add_flag(name, into, help)->group(group);
}

void add_output_flags(CLI::App& app, CheckFlags& flags) {
  const char* group = "Output";
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    names.emplace_back(format.name);
  }
  flags.format = environment("SHARDLINT_OUTPUT_FORMAT");
  flags.file = environment("SHARDLINT_OUTPUT_FILE");
  app.add_option("--output-format", flags.format, "how findings are written to standard output")
      ->check(CLI::IsMember(names))
      ->group(group);
  app.add_option("--output-file,-o", flags.file, "write findings there instead")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--output", flags.outputs, "a further report, for example sarif=out.sarif")
      ->type_name("FORMAT=PATH")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--color", "auto, always or never (NO_COLOR, FORCE_COLOR)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->group(group)
      ->each([&](const std::string& when) {
        flags.color = when == "always"  ? Color::always
                      : when == "never" ? Color::never
                                        : Color::automatic;
      });
  flag(app, group, "--statistics", flags.statistics, "how often each rule spoke, not the findings");
  flag(app, group, "--profile-rules", flags.lint.profile,
       "the time of each phase and rule, on stderr");
  flag(app, group, "--no-summary", flags.no_summary, "no summary line on stderr");
  flag(app, group, "--sarif-unknowns", flags.sarif_unknowns, "undecided rules in SARIF too");
  flag(app, group, "--show-files", flags.show_files, "list the files that would be linted");
  flag(app, group, "--quiet,-q", flags.quiet, "neither undecided rules nor the summary");
  flag(app, group, "--verbose,-v", flags.verbose, "time taken");
  flag(app, group, "--watch", flags.watch, "lint again whenever a file changes");
}

void add_exit_flags(CLI::App& app, CheckFlags& flags) {
  const char* group = "Exit code";
  app.add_option("--fail-on", flags.fail_on,
                 "the lowest severity that makes the exit code 1 (default: error)")
      ->check(CLI::IsMember({"error", "warning", "info", "never"}))
      ->group(group);
  flag(app, group, "--fail-on-unknown", flags.fail_on_unknown, "undecided rules fail too");
  flag(app, group, "--fail-on-no-files", flags.fail_on_no_files,
       "exit code 2 when nothing was linted");
  flag(app, group, "--exit-zero", flags.exit_zero, "exit code 0 whatever was found");
}

void add_fix_flags(CLI::App& app, CheckFlags& flags) {
  const char* group = "Fixes";
  flag(app, group, "--fix", flags.fix, "apply the fixes that are safe");
  flag(app, group, "--unsafe-fixes", flags.unsafe_fixes,
       "apply those too that a person should see");
  flag(app, group, "--diff", flags.diff, "print what --fix would change; change nothing");
  flag(app, group, "--fix-only", flags.fix_only, "apply fixes, do not report what is left");
  flag(app, group, "--show-fixes", flags.show_fixes, "list the fixes that were applied");
  flag(app, group, "--exit-non-zero-on-fix", flags.exit_non_zero_on_fix,
       "exit code 1 when something was fixed");
}

void add_quiet_flags(CLI::App& app, CheckFlags& flags) {
  const char* group = "Suppressions";
  app.add_option("--add-ignore", "write a suppression comment for every finding that is left")
      ->type_name("[REASON]")
      ->expected(0, 1)
      ->group(group)
      ->each([&](const std::string& reason) { flags.add_ignore = reason; });
  app.add_flag_callback(
         "--no-suppressions", [&] { flags.lint.suppressions = false; },
         "take no notice of suppression comments")
      ->group(group);
  flag(app, group, "--require-reason", flags.lint.require_reason,
       "a suppression without a reason is a finding");
  app.add_option("--baseline", flags.baseline,
                 "findings that are known; only new ones are reported")
      ->type_name("FILE")
      ->group(group);
  flag(app, group, "--write-baseline", flags.write_baseline,
       "write the baseline from what is found");
  flag(app, group, "--prune-baseline", flags.prune_baseline,
       "drop what is mended from the baseline");
}

}  // namespace

void add_check_flags(CLI::App& app, CheckFlags& flags) {
  app.add_option("paths", flags.paths, "files and folders; - is standard input (default: .)");
  add_lint_flags(app, flags.lint);
  add_project_flags(app, flags.project);
  app.add_option("--stdin-filename", flags.stdin_filename, "the name that standard input goes by")
      ->type_name("NAME");
  add_output_flags(app, flags);
  add_exit_flags(app, flags);
  add_fix_flags(app, flags);
  add_quiet_flags(app, flags);
}

}  // namespace shardlint
