// shardlint check: lint, fix, report.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "cli/check_flags.h"
#include "cli/commands.h"
#include "cli/fix.h"
#include "cli/parse.h"
#include "cli/profile.h"
#include "diagnostics/add_ignore.h"
#include "diagnostics/baseline.h"
#include "diagnostics/edits.h"

namespace shardlint {
namespace {

using Clock = std::chrono::steady_clock;

// One run: what was asked for, and the input that is not on disk.
class Check {
 public:
  Check(CheckFlags flags, std::vector<std::string> arguments)
      : flags_(std::move(flags)),
        arguments_(std::move(arguments)),
        project_(flags_.project, flags_.lint) {
    if (flags_.paths.empty()) {
      flags_.paths.push_back(".");
    }
    stdin_ = arguments_.empty() && flags_.paths == std::vector<std::string>{"-"};
    if (stdin_) {
      stdin_text_.assign(std::istreambuf_iterator<char>(std::cin), {});
    }
    const Settings& settings =
        project_.settings_of(stdin_ ? flags_.stdin_filename : flags_.paths.front());
    if (flags_.format.empty()) {
      flags_.format = settings.output_format.value_or("full");
    }
    if (flags_.fail_on.empty()) {
      flags_.fail_on = settings.fail_on.value_or("error");
    }
    if (flags_.baseline.empty()) {
      flags_.baseline = settings.baseline.value_or(
          flags_.write_baseline || flags_.prune_baseline ? ".shardlint-baseline.json" : "");
    }
    find_format(flags_.format);
  }

  int run() {
    const Clock::time_point start = Clock::now();
    Result result = lint();
    if (flags_.show_files) {
      for (const std::string& file : result.linted) {
        fmt::print("{}\n", file);
      }
      return 0;
    }
    if (flags_.write_baseline) {
      return write_baseline(result);
    }
    apply_baseline(result);
    if (!flags_.fixing() || !arguments_.empty()) {
      return report(std::move(result), 0, start);
    }
    const FixRun fixes = fix(result);
    tell(fixes);
    if (flags_.diff) {
      for (const auto& [path, file] : fixes.files) {
        fmt::print("{}", unified_diff(path, file.before, file.after));
      }
      return fixes.files.empty() || flags_.exit_zero ? 0 : 1;
    }
    write(fixes);
    if (!fixes.files.empty()) {
      result = lint();
      apply_baseline(result);
    }
    if (flags_.fix_only) {
      result.diagnostics.clear();
    }
    return report(std::move(result), fixes.applied.size(), start);
  }

 private:
  Result lint() {
    if (!arguments_.empty()) {
      return lint_arguments(arguments_, project_.options_of("."));
    }
    return stdin_ ? project_.lint_text(flags_.stdin_filename, stdin_text_)
                  : project_.lint_paths(flags_.paths);
  }

  std::optional<std::string> text_of(const std::string& path) const {
    if (!arguments_.empty() && path == "<arguments>") {
      return join(arguments_, " ");  // as lint_arguments lays them out
    }
    return stdin_ && path == flags_.stdin_filename ? stdin_text_ : RealDisk().read(path);
  }

  int write_baseline(const Result& result) const {
    std::vector<Diagnostic> violations;
    for (const Diagnostic& d : result.diagnostics) {
      if (d.verdict == Verdict::violation) {
        violations.push_back(d);
      }
    }
    const Baseline baseline = Baseline::of(violations, flags_.baseline);
    write_atomically(flags_.baseline, baseline.text());
    fmt::print(stderr, "{} findings written to {}\n", baseline.size(), flags_.baseline);
    return 0;
  }

  void apply_baseline(Result& result) const {
    if (flags_.baseline.empty()) {
      return;
    }
    const std::optional<std::string> text = RealDisk().read(flags_.baseline);
    if (!text) {
      throw Error(
          fmt::format("cannot read the baseline {}; --write-baseline makes one", flags_.baseline));
    }
    const Baseline baseline = Baseline::read(*text, flags_.baseline);
    if (flags_.prune_baseline) {
      const Baseline pruned = baseline.pruned(result.diagnostics);
      write_atomically(flags_.baseline, pruned.text());
      fmt::print(stderr, "{} findings of {} are left in {}\n", pruned.size(), baseline.size(),
                 flags_.baseline);
    }
    const std::size_t stale = baseline.apply(result.diagnostics, result.suppressed);
    if (stale > 0 && !flags_.prune_baseline && !flags_.quiet) {
      fmt::print(stderr, "{} entries of {} are mended; --prune-baseline drops them\n", stale,
                 flags_.baseline);
    }
  }

  // With --add-ignore the only fix of a finding is the comment that silences it.
  void offer_comments(std::vector<Diagnostic>& diagnostics,
                      const std::map<std::string, std::string>& texts) const {
    for (Diagnostic& d : diagnostics) {
      d.fixes.clear();
      const auto changed = texts.find(d.where.file);
      const auto text = changed == texts.end() ? text_of(d.where.file) : changed->second;
      if (d.verdict != Verdict::violation || d.code.starts_with("SUP") || !text) {
        continue;
      }
      const Source source(d.where.file, *text);
      if (std::optional<Fix> fix = ignore_comment(d, source, *flags_.add_ignore)) {
        d.fixes.push_back(std::move(*fix));
      }
    }
  }

  FixRun fix(const Result& found) {
    std::vector<Diagnostic> diagnostics = found.diagnostics;
    if (flags_.add_ignore) {
      offer_comments(diagnostics, {});
    }
    const auto relint = [&](const std::map<std::string, std::string>& texts) {
      std::vector<Diagnostic> out;
      for (const auto& [path, text] : texts) {
        Result result = project_.lint_text(path, text, texts);
        std::move(result.diagnostics.begin(), result.diagnostics.end(), std::back_inserter(out));
      }
      if (flags_.add_ignore) {
        offer_comments(out, texts);
      }
      return out;
    };
    const auto read = [&](const std::string& path) { return text_of(path).value_or(""); };
    return fix_findings(diagnostics, flags_.unsafe_fixes, read, relint);
  }

  void tell(const FixRun& run) const {
    for (const std::string& sentence : run.refused) {
      fmt::print(stderr, "{}\n", sentence);
    }
    for (const FixRun::Applied& fix : run.applied) {
      if (flags_.show_fixes) {
        fmt::print(stderr, "{} {}: {} {} ({})\n", flags_.diff ? "would fix" : "fixed", fix.file,
                   fix.code, fix.title, safety_name(fix.safety));
      }
    }
  }

  void write(const FixRun& run) {
    for (const auto& [path, file] : run.files) {
      if (stdin_ && path == flags_.stdin_filename) {
        stdin_text_ = file.after;
        continue;
      }
      std::error_code error;
      const auto target = std::filesystem::canonical(path, error);  // a link stays a link
      write_atomically(error ? path : target.string(), file.after);
    }
    if (stdin_) {
      std::fwrite(stdin_text_.data(), 1, stdin_text_.size(), stdout);
    }
  }

  bool fails(const std::vector<Diagnostic>& diagnostics) const {
    return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
      if (d.verdict == Verdict::unknown) {
        return flags_.fail_on_unknown;
      }
      return flags_.fail_on == "error"     ? d.severity == Severity::error
             : flags_.fail_on == "warning" ? d.severity >= Severity::warning
                                           : flags_.fail_on == "info";
    });
  }

  std::vector<RuleInfo> rules_of(const std::vector<Diagnostic>& diagnostics) const {
    std::set<std::string> codes;
    for (const Diagnostic& d : diagnostics) {
      codes.insert(d.code);
    }
    std::vector<RuleInfo> rules = list_rules(flags_.lint);
    std::erase_if(rules, [&](const RuleInfo& rule) { return codes.count(rule.code) == 0; });
    return rules;
  }

  int report(Result result, std::size_t fixed, Clock::time_point start) {
    Report report;
    report.diagnostics = std::move(result.diagnostics);
    report.suppressed = std::move(result.suppressed);
    report.errors = std::move(result.errors);
    report.targets = result.targets;
    report.files = result.files;
    report.skipped = result.skipped;
    report.fixed = fixed;
    report.clean_files = std::move(result.linted);
    report.text = [&](const std::string& path) { return text_of(path); };
    int code = fails(report.diagnostics) || (fixed > 0 && flags_.exit_non_zero_on_fix) ? 1 : 0;
    code = flags_.exit_zero ? 0 : code;
    for (const Result::Failure& failure : report.errors) {
      fmt::print(stderr, "shardlint: {}: {}\n", failure.filename, failure.message);
      code = 2;
    }
    if (report.files == 0 && report.errors.empty()) {
      fmt::print(stderr, "shardlint: no training configuration among the files given\n");
      code = flags_.fail_on_no_files ? 2 : code;
    }
    if (flags_.quiet) {
      std::erase_if(report.diagnostics, [&](const Diagnostic& d) {
        return d.verdict == Verdict::unknown && !flags_.fail_on_unknown;
      });
    }
    if (flags_.verbose) {
      report.milliseconds = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
    }
    const std::vector<Timing> timings = std::move(result.timings);
    write(report, code);
    if (!timings.empty()) {
      std::fflush(stdout);
      fmt::print(stderr, "{}", profile_text(timings));
    }
    if (!flags_.no_summary && !flags_.quiet) {
      std::fflush(stdout);
      fmt::print(stderr, "{}\n", summary_line(report));
      for (const std::string& line : target_lines(result)) {
        fmt::print(stderr, "{}\n", line);
      }
    }
    return code;
  }

  void write(Report& report, int code) {
    std::vector<Output> outputs = {{flags_.format, flags_.file}};
    for (const std::string& output : flags_.outputs) {
      outputs.push_back(parse_output(output));
    }
    if (std::any_of(outputs.begin(), outputs.end(),
                    [](const Output& output) { return output.format == "sarif"; })) {
      report.rules = rules_of(report.diagnostics);
    }
    Look look;
    look.unknowns = flags_.sarif_unknowns;
    look.exit_code = code;
    look.folder = std::filesystem::current_path().string();
    const bool stdout_is_text = stdin_ && flags_.fixing();  // the fixed text went there
    if (flags_.statistics) {
      fmt::print(stdout_is_text ? stderr : stdout, "{}", statistics(report.diagnostics));
      outputs.erase(outputs.begin());
    } else if (stdout_is_text && flags_.file.empty()) {
      fmt::print(stderr, "{}", find_format(flags_.format).render(report, look));
      outputs.erase(outputs.begin());
    }
    write_outputs(outputs, report, look, flags_.color);
  }

  CheckFlags flags_;
  std::vector<std::string> arguments_;  // of the framework, after `--`
  Project project_;
  bool stdin_ = false;
  std::string stdin_text_;
};

// What is below the paths: how many entries, and the newest change. By polling: it works on network
// file systems too.
std::pair<std::size_t, std::filesystem::file_time_type> state_of(
    const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  // The clock of files counts from the year 2174: today is negative.
  std::pair<std::size_t, fs::file_time_type> out{0, fs::file_time_type::min()};
  std::error_code error;
  const auto look = [&](const fs::path& path) {
    const auto when = fs::last_write_time(path, error);
    if (!error) {
      out = {out.first + 1, std::max(out.second, when)};
    }
  };
  for (const std::string& path : paths) {
    look(path);
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
      look(it->path());
    }
  }
  return out;
}

int watch(const CheckFlags& flags) {
  const std::vector<std::string> paths =
      flags.paths.empty() ? std::vector<std::string>{"."} : flags.paths;
  for (;;) {
    const auto seen = state_of(paths);
    try {
      Check(flags, {}).run();
    } catch (const Error& error) {
      fmt::print(stderr, "shardlint: {}\n", error.what());  // half-written settings, say
    }
    std::fflush(stdout);
    while (state_of(paths) == seen) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

}  // namespace

int run_check(Arguments arguments) {
  const auto [own, foreign, dashes] = split_at_dashes(arguments);
  CheckFlags flags;
  CLI::App app("Lint configurations, launch scripts and recipes.", "shardlint check");
  app.footer(
      "shardlint check [OPTIONS] -- FLAGS... lints an argument list.\n"
      "Exit codes: 0 nothing at or above the fail level, 1 findings, 2 could not do it.");
  add_check_flags(app, flags);
  if (const std::optional<int> code = parse(app, own)) {
    return *code;
  }
  if (dashes && (foreign.empty() || !flags.paths.empty())) {
    throw Error(foreign.empty() ? "there is nothing after `--`"
                                : "paths and an argument list cannot be linted in one run");
  }
  if (flags.watch) {
    return watch(flags);
  }
  return Check(std::move(flags), {foreign.begin(), foreign.end()}).run();
}

}  // namespace shardlint
