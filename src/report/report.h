#pragma once
// Findings as text for people and machines: one row of a table, one file, a format.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"
#include "shardlint/lint.h"

namespace shardlint {

struct Report {
  std::vector<Diagnostic> diagnostics;  // sorted
  std::vector<Suppressed> suppressed;   // sorted
  std::vector<Result::Failure> errors;
  std::vector<Target> targets;  // what the configurations were judged as; sorted
  std::vector<RuleInfo> rules;  // of the codes above, for formats that describe them
  std::size_t files = 0, skipped = 0, fixed = 0;
  std::vector<std::string> clean_files;       // linted, nothing found (junit wants them)
  std::optional<std::uint64_t> milliseconds;  // only when asked for: output is the same every run
  // The text of a file as it was linted; nothing when there is none. Called once a file.
  std::function<std::optional<std::string>(const std::string& path)> text;
};

struct Look {
  bool color = false;
  bool unknowns = false;  // sarif: verdict unknown too
  std::string folder;     // absolute; the root of relative paths (sarif)
  int exit_code = 0;      // that the run ends with (sarif)
};

struct Format {
  std::string_view name;
  std::string (*render)(const Report&, const Look&);
};

std::span<const Format> formats();
// Throws Error with a suggestion when there is no such format.
const Format& find_format(std::string_view name);

struct Totals {
  std::size_t errors = 0, warnings = 0, infos = 0, unknowns = 0;
  std::size_t fixable_safe = 0, fixable_unsafe = 0;
};
// Each finding counts once: as unknown when its verdict is, else by severity.
Totals count(std::span<const Diagnostic> diagnostics);

// "2 errors and 1 warning in 5 files (3 skipped); 1 fixable with --fix"
std::string summary_line(const Report& report);
// "taken as verl 0.8.0, which uv.lock:12 names; --target names another", and what was left out
// there.
std::vector<std::string> target_lines(const Result& result);
// "  3  CKP104  megatron-fsdp-checkpoint-format", most frequent first.
std::string statistics(std::span<const Diagnostic> diagnostics);

std::string_view severity_name(Severity severity);
std::string_view safety_name(Safety safety);
std::string_view file_kind(std::string_view path);  // yaml | bash | python | json | toml | other

}  // namespace shardlint
