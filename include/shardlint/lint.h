#pragma once
// Linting from a program: files or unsaved text in, findings out. Nothing that is read is executed.
//
//   shardlint::Options options;
//   options.targets = {"megatron-lm==0.17.0"};
//   const std::vector<std::string> paths = {"configs"};
//   for (const shardlint::Diagnostic& d : shardlint::lint(paths, options).diagnostics) ...

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint {

struct Options {
  std::vector<std::string> rule_folders;    // rules from disk, added to or replacing built-in ones
  std::vector<std::string> select, ignore;  // codes, prefixes of codes, names, ALL
  std::vector<std::string> targets;         // "megatron-lm==0.17.0"
  std::map<std::string, std::string> target_places;  // a target -> where a file names it
  bool pins =
      true;  // lock files and requirements beside a file name targets that `targets` does not
  std::vector<std::string> set;  // "KEY=VALUE": values laid over every configuration
  std::vector<std::string> env;  // "NAME=VALUE": the job's environment
  std::optional<int> world_size;
  std::string gpu;        // "H100" or "sm_90"; empty: unknown
  std::string framework;  // forces the dialect; empty: detected
  // Is an absent key its default (closed) or unknown (open)? automatic: entry points are closed.
  enum class World { automatic, open, closed } world = World::automatic;
  std::vector<std::string> source_roots;  // where Python recipes that are imported lie
  // Unsaved texts by path, standing for the files on disk: an editor's buffers, a fix being tried.
  std::map<std::string, std::string> unsaved;
  bool walked = false;                     // the paths were met on a walk, nobody named them
  bool suppressions = true;                // obey `# shardlint: ignore[...]` comments
  bool require_reason = false;             // a suppression without a reason is a finding
  std::vector<std::string> not_ignorable;  // rules that comments may not suppress
  unsigned jobs = 0;                       // 0: one a core
  bool profile = false;                    // measure where the time goes
  std::string checkpoint;                  // a checkpoint directory to check along; empty: none
};

// Where the time of a run went, of all threads together.
struct Timing {
  std::string phase, name;  // "read" + kind of file; "rule" + code; "rewrite" + id; "keys"; ...
  std::uint64_t calls = 0, nanoseconds = 0;
};

// The version that a framework's configurations were judged as.
struct Target {
  std::string framework;
  std::string version;  // of the catalogue: the newest known one that is not above what was named
  std::string named;    // as it was named; empty: nobody did, and the newest known is assumed
  std::string place;    // "uv.lock:12", "shardlint.toml:3:1"; empty: an option, or nobody
  bool operator==(const Target&) const = default;
  auto operator<=>(const Target&) const = default;
};

struct Result {
  std::vector<Diagnostic> diagnostics;  // sorted by path, offset, code
  std::vector<Suppressed> suppressed;   // kept quiet by comments; in the same order
  std::vector<std::string> linted;      // the files that `files` counts, sorted
  std::vector<Target> targets;          // of the configurations that were met; sorted
  std::vector<std::string> notes;       // what lock files and requirements say and was left out
  struct Failure {
    std::string filename, message;
  };
  std::vector<Failure> errors;         // files that could not be read
  std::vector<Timing> timings;         // with Options::profile: by phase and name
  std::size_t files = 0, skipped = 0;  // linted; looked at and no training configuration
};

// Lints files and directories. Throws Error when an option or a rule file is wrong.
Result lint(std::span<const std::string> paths, const Options& options);

// Lints text that need not be on disk under `name`; other files are read from disk.
Result lint(std::string_view name, std::string_view text, const Options& options);

// Lints one argument list as the framework's own parser would read it.
Result lint_arguments(std::span<const std::string> arguments, const Options& options);

// What a code, a rule's name, a key or an upstream error text means; nothing when it is unknown.
std::optional<std::string> explain(std::string_view what);

// What is known of a rule without running it: for lists, documentation and SARIF.
struct RuleInfo {
  std::string code, name, summary, rationale, help, category, url;
  Severity severity = Severity::error;
  std::vector<std::string> tags;
  std::vector<std::string> frameworks;  // "megatron-lm >=0.15"
};

// All rules that `options` leaves switched on, sorted by code.
std::vector<RuleInfo> list_rules(const Options& options);

}  // namespace shardlint
