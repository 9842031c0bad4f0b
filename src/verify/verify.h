#pragma once
// shardlint verify, from the flags to the exit code.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"
#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint {

// What the linter knows of the files that were given as CONFIG.
struct LintedConfig {
  std::vector<Config> configs;          // after the framework's program; one for each instance
  std::vector<Diagnostic> diagnostics;  // sorted
  std::vector<std::shared_ptr<const Sources>> owners;  // of what configs point into
};

// What other rooms lend to the command. Each may be empty: then the command does without, and says
// so where it matters.
struct VerifyHooks {
  // Sources stay in `sources`, which outlives the configurations. Throws Error.
  std::function<LintedConfig(const std::vector<std::string>& paths, Sources& sources)> read;
  // The finding that explains a line of a job's log, if a rule knows that message; at its place in
  // the configuration (may be null).
  std::function<std::optional<Diagnostic>(std::string_view line, const Config*)> runtime_error;
  // Everything wrong with a checkpoint. Throws Error when there is none.
  std::function<std::vector<Diagnostic>(const std::string& path)> check_checkpoint;
  // Findings in one of the linter's formats (full, sarif, ...).
  std::function<std::string(const std::vector<Diagnostic>&, const std::string& format)> render;
};

struct VerifyFlags {
  std::vector<std::string> paths;
  std::string instance, scope;  // which configuration of the file, which role of it
  std::string backend = "auto", preset = "tiny", strategy, trainer;
  int gpus = 0, steps = 0;  // 0: all, the default
  std::uint64_t seed = 1234;
  std::vector<std::string> checks, faults;
  std::vector<std::uint64_t> collective_sizes;
  bool processes = false, compare = false;
  std::string save, evidence = "shardlint-verify.json", plot;
  bool no_evidence = false, yes = false, dry_run = false, force = false, verbose = false;
  double deadline = 0;  // seconds; 0: 600 for the trainer, none for a command
  double phase_deadline = 30;
  std::string format = "text";
  // --run
  std::vector<std::string> command;
  double stall = 300;
  std::string checkpoint;  // that the command writes
};

// Exit codes: 0 every check passed, 1 findings, 2 could not do it, 77 cannot run here, 128 + n when
// told to end by signal n. Throws Error.
int verify_configuration(const VerifyFlags& flags, const VerifyHooks& hooks);

namespace verify {

// The configuration that the flags mean; null without CONFIG. `linted` holds it. Nothing (and an
// exit code) when its findings forbid going on.
struct Chosen {
  const Config* config = nullptr;
  std::optional<int> refused;
};
Chosen choose_configuration(const VerifyFlags& flags, const VerifyHooks& hooks,
                            LintedConfig& linted, Sources& sources);

}  // namespace verify
}  // namespace shardlint
