// shardlint check: lint, fix, report.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/fix.h"
#include "cli/lint_flags.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "diagnostics/edits.h"
#include "diagnostics/sort.h"
#include "report/report.h"

namespace shardlint {
namespace {

struct Flags {
  Options lint;
  std::vector<std::string> paths;
  std::string stdin_filename = "stdin.yaml";
  // output
  std::string format, file;
  std::vector<std::string> outputs;
  Color color = Color::automatic;
  bool statistics = false, no_summary = false, quiet = false, verbose = false;
  bool sarif_unknowns = false;
  // exit code
  std::string fail_on = "error";
  bool fail_on_unknown = false, fail_on_no_files = false, exit_zero = false;
  // fixes
  bool fix = false, unsafe_fixes = false, diff = false, fix_only = false, show_fixes = false;
  bool exit_non_zero_on_fix = false;

  bool fixing() const { return fix || fix_only || diff; }
};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("paths", flags.paths, "files and folders; - is standard input (default: .)");
  add_lint_flags(app, flags.lint);
  app.add_option("--stdin-filename", flags.stdin_filename, "the name that standard input goes by")
      ->type_name("NAME");

  std::vector<std::string> names;
  for (const Format& format : formats()) {
    names.emplace_back(format.name);
  }
  flags.format = environment("SHARDLINT_OUTPUT_FORMAT", "full");
  flags.file = environment("SHARDLINT_OUTPUT_FILE", "");
  app.add_option("--output-format", flags.format, "how findings are written to standard output")
      ->check(CLI::IsMember(names))
      ->group("Output");
  app.add_option("--output-file,-o", flags.file, "write findings there instead")
      ->type_name("FILE")
      ->group("Output");
  app.add_option("--output", flags.outputs, "a further report, for example sarif=out.sarif")
      ->type_name("FORMAT=PATH")
      ->allow_extra_args(false)
      ->group("Output");
  app.add_option("--color", flags.color, "auto, always or never (NO_COLOR, FORCE_COLOR)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Color>{
          {"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}}))
      ->type_name("WHEN")
      ->group("Output");
  const auto flag = [&](const char* group, const char* name, bool& into, const char* help) {
    app.add_flag(name, into, help)->group(group);
  };
  flag("Output", "--statistics", flags.statistics,
       "how often each rule spoke, instead of findings");
  flag("Output", "--no-summary", flags.no_summary, "no summary line on stderr");
  flag("Output", "--sarif-unknowns", flags.sarif_unknowns, "undecided rules in SARIF too");
  flag("Output", "--quiet,-q", flags.quiet, "neither undecided rules nor the summary");
  flag("Output", "--verbose,-v", flags.verbose, "time taken");

  app.add_option("--fail-on", flags.fail_on, "the lowest severity that makes the exit code 1")
      ->check(CLI::IsMember({"error", "warning", "info", "never"}))
      ->group("Exit code");
  flag("Exit code", "--fail-on-unknown", flags.fail_on_unknown, "undecided rules fail too");
  flag("Exit code", "--fail-on-no-files", flags.fail_on_no_files,
       "exit code 2 when nothing was linted");
  flag("Exit code", "--exit-zero", flags.exit_zero, "exit code 0 whatever was found");

  flag("Fixes", "--fix", flags.fix, "apply the fixes that are safe");
  flag("Fixes", "--unsafe-fixes", flags.unsafe_fixes,
       "apply those too that a person should look at");
  flag("Fixes", "--diff", flags.diff, "print what --fix would change; change nothing");
  flag("Fixes", "--fix-only", flags.fix_only, "apply fixes, do not report what is left");
  flag("Fixes", "--show-fixes", flags.show_fixes, "list the fixes that were applied");
  flag("Fixes", "--exit-non-zero-on-fix", flags.exit_non_zero_on_fix,
       "exit code 1 when something was fixed");
}

// The texts that are not simply on disk.
struct Input {
  bool is_stdin = false;
  std::string stdin_text;
};

Result lint_input(const Flags& flags, const Input& input,
                  const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    return lint_arguments(arguments, flags.lint);
  }
  if (input.is_stdin) {
    return lint(flags.stdin_filename, input.stdin_text, flags.lint);
  }
  return lint(flags.paths, flags.lint);
}

std::optional<std::string> text_of(const Flags& flags, const Input& input,
                                   const std::string& path) {
  return input.is_stdin && path == flags.stdin_filename ? input.stdin_text : RealDisk().read(path);
}

FixRun run_fixes(const Flags& flags, const Input& input, const Result& found) {
  const auto read = [&](const std::string& path) {
    return text_of(flags, input, path).value_or("");
  };
  const auto relint = [&](const std::map<std::string, std::string>& texts) {
    Options options = flags.lint;
    options.unsaved = texts;
    std::vector<Diagnostic> out;
    for (const auto& [path, text] : texts) {
      Result result = lint(path, text, options);
      std::move(result.diagnostics.begin(), result.diagnostics.end(), std::back_inserter(out));
    }
    sort_diagnostics(out);
    return out;
  };
  return fix_findings(found.diagnostics, flags.unsafe_fixes, read, relint);
}

void write_fixes(const Flags& flags, const Input& input, const FixRun& run) {
  for (const auto& [path, file] : run.files) {
    if (input.is_stdin && path == flags.stdin_filename) {
      continue;
    }
    std::error_code error;
    const auto target = std::filesystem::canonical(path, error);  // a link stays a link
    write_atomically(error ? path : target.string(), file.after);
  }
}

void tell_fixes(const Flags& flags, const FixRun& run) {
  for (const std::string& sentence : run.refused) {
    fmt::print(stderr, "{}\n", sentence);
  }
  if (flags.show_fixes) {
    for (const FixRun::Applied& fix : run.applied) {
      fmt::print(stderr, "{} {}: {} {} ({})\n", flags.diff ? "would fix" : "fixed", fix.file,
                 fix.code, fix.title, safety_name(fix.safety));
    }
  }
}

bool fails(const Flags& flags, const std::vector<Diagnostic>& diagnostics) {
  if (flags.exit_zero) {
    return false;
  }
  const std::map<std::string, Severity> levels = {
      {"error", Severity::error}, {"warning", Severity::warning}, {"info", Severity::info}};
  const auto level = levels.find(flags.fail_on);
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
    if (d.verdict == Verdict::unknown) {
      return flags.fail_on_unknown;
    }
    return level != levels.end() && d.severity >= level->second;
  });
}

std::vector<RuleInfo> rules_of(const std::vector<Diagnostic>& diagnostics, const Options& options) {
  std::set<std::string> codes;
  for (const Diagnostic& d : diagnostics) {
    codes.insert(d.code);
  }
  std::vector<RuleInfo> rules = list_rules(options);
  std::erase_if(rules, [&](const RuleInfo& rule) { return codes.count(rule.code) == 0; });
  return rules;
}

int report(const Flags& flags, const Input& input, Result result, std::size_t fixed,
           std::chrono::steady_clock::time_point start) {
  Report report;
  report.diagnostics = std::move(result.diagnostics);
  report.errors = std::move(result.errors);
  report.files = result.files;
  report.skipped = result.skipped;
  report.fixed = fixed;
  report.text = [&](const std::string& path) { return text_of(flags, input, path); };
  const bool failing = fails(flags, report.diagnostics) ||
                       (fixed > 0 && flags.exit_non_zero_on_fix && !flags.exit_zero);
  int code = failing ? 1 : 0;
  for (const Result::Failure& failure : report.errors) {
    fmt::print(stderr, "shardlint: {}: {}\n", failure.filename, failure.message);
    code = 2;
  }
  if (report.files == 0 && report.errors.empty()) {
    fmt::print(stderr, "shardlint: no training configuration among the files given\n");
    code = flags.fail_on_no_files ? 2 : code;
  }
  if (flags.quiet) {
    std::erase_if(report.diagnostics, [&](const Diagnostic& d) {
      return d.verdict == Verdict::unknown && !flags.fail_on_unknown;
    });
  }
  if (flags.verbose) {
    report.milliseconds =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - start)
                                       .count());
  }
  std::vector<Output> outputs = {{flags.format, flags.file}};
  for (const std::string& output : flags.outputs) {
    outputs.push_back(parse_output(output));
  }
  if (flags.fix_only) {
    report.diagnostics.clear();
  }
  for (const Output& output : outputs) {
    if (output.format == "sarif" && report.rules.empty()) {
      report.rules = rules_of(report.diagnostics, flags.lint);
    }
  }
  Look look;
  look.unknowns = flags.sarif_unknowns;
  look.exit_code = code;
  look.folder = std::filesystem::current_path().string();
  const bool stdout_taken = input.is_stdin && flags.fixing();
  if (flags.statistics) {
    fmt::print(stdout_taken ? stderr : stdout, "{}", statistics(report.diagnostics));
  } else if (stdout_taken) {
    fmt::print(stderr, "{}", find_format(flags.format).render(report, look));
  } else {
    write_outputs(outputs, report, look, flags.color);
  }
  if (!flags.no_summary && !flags.quiet) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", summary_line(report));
  }
  return code;
}

int check(Flags flags, const std::vector<std::string>& arguments) {
  const auto start = std::chrono::steady_clock::now();
  Input input;
  if (flags.paths.empty()) {
    flags.paths.push_back(".");
  }
  if (arguments.empty() && flags.paths == std::vector<std::string>{"-"}) {
    input.is_stdin = true;
    input.stdin_text.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  Result result = lint_input(flags, input, arguments);
  if (!flags.fixing() || !arguments.empty()) {
    return report(flags, input, std::move(result), 0, start);
  }
  const FixRun run = run_fixes(flags, input, result);
  tell_fixes(flags, run);
  if (flags.diff) {
    for (const auto& [path, file] : run.files) {
      fmt::print("{}", unified_diff(path, file.before, file.after));
    }
    return run.files.empty() || flags.exit_zero ? 0 : 1;
  }
  write_fixes(flags, input, run);
  if (input.is_stdin) {
    const auto changed = run.files.find(flags.stdin_filename);
    input.stdin_text = changed == run.files.end() ? input.stdin_text : changed->second.after;
    std::fwrite(input.stdin_text.data(), 1, input.stdin_text.size(), stdout);
  }
  if (!run.files.empty()) {
    result = lint_input(flags, input, arguments);
  }
  if (flags.fix_only) {
    result.diagnostics.clear();
  }
  return report(flags, input, std::move(result), run.applied.size(), start);
}

}  // namespace

int run_check(Arguments arguments) {
  // What follows `--` is an argument list of the framework, not of ours.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments own(arguments.begin(), dashes);
  std::vector<std::string> foreign;
  if (dashes != arguments.end()) {
    foreign.assign(dashes + 1, arguments.end());
  }
  Flags flags;
  CLI::App app("Lint configurations, launch scripts and recipes.", "shardlint check");
  app.footer(
      "shardlint check [OPTIONS] -- FLAGS... lints an argument list.\n"
      "Exit codes: 0 nothing at or above the fail level, 1 findings, 2 could not do it.");
  add_flags(app, flags);
  if (const std::optional<int> code = parse(app, own)) {
    return *code;
  }
  if (dashes != arguments.end() && (foreign.empty() || !flags.paths.empty())) {
    throw Error(foreign.empty() ? "there is nothing after `--`"
                                : "paths and an argument list cannot be linted in one run");
  }
  return check(std::move(flags), foreign);
}

}  // namespace shardlint
