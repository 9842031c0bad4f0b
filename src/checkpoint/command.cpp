#include "checkpoint/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "checkpoint/check.h"
#include "checkpoint/command_json.h"
#include "checkpoint/inspect.h"
#include "report/report.h"
#include "shardlint/checkpoint.h"

namespace shardlint {
namespace {

using checkpoint::CheckResult;
using checkpoint::TensorStatistics;

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) {
    bytes /= 1024;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

// One line on stderr that is written over; nothing where stderr is no terminal.
class ProgressBar {
 public:
  ProgressBar() : shown_(::isatty(STDERR_FILENO) != 0), start_(std::chrono::steady_clock::now()) {}
  ~ProgressBar() {
    if (drawn_) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }
  void operator()(std::uint64_t done, std::uint64_t total) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (!shown_ || seconds < 0.2) {
      return;
    }
    drawn_ = true;
    const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
    const auto full = static_cast<std::size_t>(share * 30);
    fmt::print(stderr, "\r[{}{}] {:3.0f} %  {} of {}  {}/s\x1b[K", std::string(full, '#'),
               std::string(30 - full, '.'), share * 100, bytes_text(static_cast<double>(done)),
               bytes_text(static_cast<double>(total)),
               bytes_text(static_cast<double>(done) / seconds));
    std::fflush(stderr);
  }

 private:
  bool shown_, drawn_ = false;
  std::chrono::steady_clock::time_point start_;
};

struct Flags {
  std::vector<std::string> paths;
  std::string format;
  std::string pattern, fail_on = "error";
  bool deep = false, all = false, time = false;
  unsigned threads = 0;
};

// -- inspect --------------------------------------------------------------------------------

void print_part(const CheckpointPart& part, bool all) {
  fmt::print("\n{}{}\n", part.directory, part.role.empty() ? "" : "  (" + part.role + ")");
  fmt::print("  format      {}\n", part.format);
  fmt::print("  on disk     {} in {} files with data\n",
             bytes_text(static_cast<double>(part.bytes_on_disk)), part.files);
  fmt::print("  model       {} elements, {}\n", part.model_elements,
             bytes_text(static_cast<double>(part.model_bytes)));
  fmt::print("  optimizer   {}\n",
             part.has_optimizer ? bytes_text(static_cast<double>(part.optimizer_bytes)) : "none");
  fmt::print("  rng state   {}\n", part.has_rng ? "yes" : "none");
  for (const auto& [name, value] : part.facts) {
    fmt::print("  {}: {}\n", name, value);
  }
  const std::size_t shown =
      all ? part.tensors.size() : std::min<std::size_t>(part.tensors.size(), 40);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    width = std::max(width, std::min<std::size_t>(part.tensors[i].name.size(), 72));
  }
  fmt::print("  {} tensors\n", part.tensors.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const CheckpointTensor& t = part.tensors[i];
    fmt::print("    {:<{}}  {:<9} {}  {} piece{}, {}\n", t.name, width, t.dtype,
               shape_text(t.shape), t.pieces, t.pieces == 1 ? "" : "s",
               bytes_text(static_cast<double>(t.bytes)));
  }
  if (shown < part.tensors.size()) {
    fmt::print("    ... {} more; --all lists them\n", part.tensors.size() - shown);
  }
  const std::size_t objects =
      all ? part.objects.size() : std::min<std::size_t>(part.objects.size(), 10);
  if (!part.objects.empty()) {
    fmt::print("  {} objects: {}{}\n", part.objects.size(),
               fmt::join(part.objects.begin(),
                         part.objects.begin() + static_cast<std::ptrdiff_t>(objects), ", "),
               objects < part.objects.size() ? ", ..." : "");
  }
}

void print_statistics(const TensorStatistics& s) {
  fmt::print("{}{}  {} {}\n", s.part.empty() ? "" : s.part + ": ", s.name, s.dtype, s.shape);
  if (!s.error.empty()) {
    fmt::print("  {}\n", s.error);
    return;
  }
  const double n = static_cast<double>(std::max<std::uint64_t>(s.counts.finite, 1));
  fmt::print("  min {}  max {}  mean {}  rms {}\n", s.counts.minimum, s.counts.maximum,
             s.counts.sum / n, std::sqrt(s.counts.sum_of_squares / n));
  fmt::print("  {} elements: {} NaN, {} infinite, {} zero, {} negative\n  xxh64 {}\n",
             s.counts.elements, s.counts.nan, s.counts.infinite, s.counts.zero, s.counts.negative,
             s.digest);
}

int run_inspect(const Flags& flags) {
  const std::string& path = flags.paths.front();
  if (!flags.pattern.empty()) {
    const std::vector<TensorStatistics> found = checkpoint::tensor_statistics(path, flags.pattern);
    if (flags.format == "json") {
      fmt::print("{}\n", checkpoint::to_json(found));
    } else {
      for (const TensorStatistics& statistics : found) {
        print_statistics(statistics);
      }
    }
    if (found.empty()) {
      fmt::print(stderr, "no tensor of {} matches {}\n", path, flags.pattern);
    }
    return found.empty() ? 1 : 0;
  }
  const CheckpointSummary summary = inspect_checkpoint(path);
  if (flags.format == "json") {
    fmt::print("{}\n", checkpoint::to_json(summary));
    return 0;
  }
  fmt::print("{}: {} layout", summary.path, summary.layout);
  fmt::print("{}\n", summary.iteration.empty() ? "" : ", iteration " + summary.iteration);
  if (!summary.iterations.empty()) {
    fmt::print("iterations: {}\n", fmt::join(summary.iterations, ", "));
  }
  for (const CheckpointPart& part : summary.parts) {
    print_part(part, flags.all);
  }
  return 0;
}

// -- check ----------------------------------------------------------------------------------

std::vector<RuleInfo> rules_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<RuleInfo> rules;
  for (const checkpoint::FaultInfo& fault : checkpoint::all_faults()) {
    if (std::any_of(diagnostics.begin(), diagnostics.end(),
                    [&](const Diagnostic& d) { return d.code == fault.code; })) {
      RuleInfo rule;
      rule.code = fault.code;
      rule.name = fault.name;
      rule.summary = rule.rationale = fault.sentence;
      rule.category = "checkpoint";
      rule.severity = fault.severity;
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

int run_check_checkpoint(const Flags& flags) {
  const auto start = std::chrono::steady_clock::now();
  ProgressBar bar;
  CheckpointOptions options{flags.deep, flags.threads,
                            [&](std::uint64_t done, std::uint64_t total) { bar(done, total); }};
  std::vector<Diagnostic> all;
  std::uint64_t bytes = 0;
  std::size_t tensors = 0, parts = 0;
  for (const std::string& path : flags.paths) {
    CheckResult result = checkpoint::check_path(path, options);
    bytes += result.bytes_read;
    tensors += result.tensors;
    parts += result.parts;
    std::vector<Diagnostic> found = checkpoint::to_diagnostics(std::move(result.findings));
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Report report;
  report.diagnostics = std::move(all);
  report.rules = rules_of(report.diagnostics);
  report.files = flags.paths.size();
  report.text = [](const std::string&) { return std::nullopt; };  // data, not text
  const bool failed =
      std::any_of(report.diagnostics.begin(), report.diagnostics.end(), [&](const Diagnostic& d) {
        return d.severity == Severity::error ||
               (flags.fail_on != "error" && d.severity == Severity::warning) ||
               flags.fail_on == "info";
      });
  Look look;
  look.exit_code = failed && flags.fail_on != "never" ? 1 : 0;
  look.color = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  const std::string text = find_format(flags.format).render(report, look);
  std::fwrite(text.data(), 1, text.size(), stdout);
  const Totals totals = count(report.diagnostics);
  fmt::print(stderr, "{} error{}, {} warning{} in {} tensors of {} checkpoint director{}",
             totals.errors, totals.errors == 1 ? "" : "s", totals.warnings,
             totals.warnings == 1 ? "" : "s", tensors, parts, parts == 1 ? "y" : "ies");
  if (flags.deep) {
    fmt::print(stderr, "; {} of values read", bytes_text(static_cast<double>(bytes)));
  }
  if (flags.time) {
    fmt::print(stderr, " in {:.3f} s, {}/s", seconds,
               bytes_text(static_cast<double>(bytes) / seconds));
  }
  fmt::print(stderr, "\n");
  return look.exit_code;
}

// -- diff -----------------------------------------------------------------------------------

int run_diff(const Flags& flags) {
  const std::vector<TensorDifference> all = diff_checkpoints(flags.paths[0], flags.paths[1]);
  const auto differing = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const TensorDifference& d) { return d.verdict != "equal"; }));
  if (flags.format == "json") {
    fmt::print("{}\n", checkpoint::to_json(all));
    return differing == 0 ? 0 : 1;
  }
  for (const TensorDifference& d : all) {
    if (d.verdict == "equal" && !flags.all) {
      continue;
    }
    fmt::print("{:<10} {}", d.verdict, d.name);
    if (d.verdict == "values" || d.verdict == "dtype") {
      fmt::print(": {}{} of {} elements differ, by {:.6g} at most, relatively by {:.3g}",
                 d.detail.empty() ? "" : d.detail + ", ", d.differing, d.elements,
                 d.largest_absolute, d.largest_relative);
    } else if (!d.detail.empty()) {
      fmt::print(": {}", d.detail);
    }
    fmt::print("{}\n", d.digest_a.empty()         ? ""
                       : d.digest_a == d.digest_b ? "  " + d.digest_a
                                                  : "  " + d.digest_a + " / " + d.digest_b);
  }
  fmt::print(stderr, "{} of {} tensors differ\n", differing, all.size());
  return differing == 0 ? 0 : 1;
}

}  // namespace

int checkpoint_command(std::span<const std::string> args) {
  Flags flags;
  CLI::App app("Inspect, check and compare checkpoints of sharded training.",
               "shardlint checkpoint");
  app.require_subcommand(1);
  CLI::App* inspect = app.add_subcommand("inspect", "what a checkpoint holds");
  inspect->add_option("path", flags.paths, "a checkpoint, or a directory of iterations")
      ->required()
      ->expected(1);
  inspect
      ->add_option("--tensor", flags.pattern,
                   "read the values of tensors whose key matches (* and ?): min, max, mean, NaN "
                   "count, digest")
      ->type_name("PATTERN");
  inspect->add_flag("--all", flags.all, "list every tensor and object");
  inspect->add_option("--output-format", flags.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));

  CLI::App* check =
      app.add_subcommand("check", "is it complete and undamaged? Exit code 1 when not");
  check->add_option("paths", flags.paths, "checkpoints, or directories of iterations")->required();
  check->add_flag("--deep", flags.deep, "read every byte: checksums, NaN, negative second moments");
  check->add_option("--threads", flags.threads, "default: one a core")->type_name("N");
  check->add_option("--fail-on", flags.fail_on, "the lowest severity that makes the exit code 1")
      ->check(CLI::IsMember({"error", "warning", "info", "never"}));
  check->add_flag("--time", flags.time, "seconds and bytes a second on stderr");
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    names.emplace_back(format.name);
  }
  check->add_option("--output-format", flags.format, "how findings are written")
      ->check(CLI::IsMember(names));

  CLI::App* diff = app.add_subcommand(
      "diff", "compare two, whatever ranks wrote them. Exit code 1 when they differ");
  diff->add_option("paths", flags.paths, "two checkpoints")->required()->expected(2);
  diff->add_flag("--all", flags.all, "list equal tensors with their digests too");
  diff->add_option("--output-format", flags.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));

  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (inspect->parsed()) {
    return run_inspect(flags);
  }
  if (check->parsed()) {
    flags.format = flags.format.empty() ? "full" : flags.format;
    return run_check_checkpoint(flags);
  }
  return run_diff(flags);
}

}  // namespace shardlint
