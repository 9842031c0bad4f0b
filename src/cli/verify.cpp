// shardlint verify
#include "verify/verify.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "cli/verify_hooks.h"

namespace shardlint {
namespace {

void add_flags(CLI::App& app, VerifyFlags& f) {
  app.add_option("config", f.paths, "the configuration whose way of sharding is tried");
  app.add_option("--instance", f.instance, "which configuration of a file that holds several")
      ->type_name("NAME");
  app.add_option("--scope", f.scope, "which role of a verl configuration")->type_name("PATH");
  app.add_option("--backend", f.backend, "gpu, cpu, or auto: GPUs when there are any")
      ->check(CLI::IsMember({"gpu", "cpu", "auto"}));
  app.add_option("--gpus", f.gpus, "how many ranks (default: every GPU; 2 on the CPU)")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  app.add_option("--steps", f.steps, "optimizer steps of each run (default: 4)")
      ->check(CLI::Range(2, 100000))
      ->type_name("K");
  app.add_option("--preset", f.preset, "size of the model: tiny, small or 539m")
      ->check(CLI::IsMember({"tiny", "small", "539m"}));
  app.add_option("--strategy", f.strategy, "instead of the configuration's")
      ->check(CLI::IsMember({"no_shard", "optim", "optim_grads", "optim_grads_params"}));
  app.add_option("--seed", f.seed, "of weights and tokens");
  app.add_option(
         "--checks", f.checks,
         "only these: environment, collectives, finite, parity, replicas, checkpoint, memory")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"environment", "collectives", "finite", "parity", "replicas", "checkpoint", "memory"}));
  app.add_option("--collective-sizes", f.collective_sizes, "bytes of the collectives to time")
      ->delimiter(',');
  app.add_flag("--processes", f.processes, "a process a rank instead of a thread");
  app.add_flag("--compare", f.compare, "time all four strategies, with a plot");
  app.add_option("--save", f.save, "keep the checkpoint below DIR")->type_name("DIR");
  const auto group = [](CLI::Option* option, const char* name) { option->group(name); };
  group(
      app.add_option("--run", f.command,
                     "drive this command instead: --run -- torchrun ... (everything that follows)")
          ->expected(-1)
          ->type_name("-- CMD..."),
      "Own command");
  group(
      app.add_option("--stall", f.stall, "end the command after so long without output (0: never)")
          ->check(CLI::NonNegativeNumber)
          ->type_name("SECONDS"),
      "Own command");
  group(app.add_flag("--yes,-y", f.yes, "do not ask"), "Safety");
  group(app.add_flag("--dry-run", f.dry_run, "say what would be done, and stop"), "Safety");
  group(app.add_flag("--force", f.force, "go on although the configuration has errors"), "Safety");
  group(app.add_option("--deadline", f.deadline, "end it all after so long (default: 600)")
            ->check(CLI::PositiveNumber)
            ->type_name("SECONDS"),
        "Safety");
  group(app.add_option("--phase-deadline", f.phase_deadline,
                       "how long a rank may go without moving on")
            ->check(CLI::PositiveNumber)
            ->type_name("SECONDS"),
        "Safety");
  group(app.add_option("--output-format", f.format,
                       "text, json (the evidence), or a format of `check` for the findings"),
        "Output");
  group(
      app.add_option("--evidence", f.evidence, "where the evidence is written")->type_name("FILE"),
      "Output");
  group(app.add_flag("--no-evidence", f.no_evidence, "write none"), "Output");
  group(app.add_option("--plot", f.plot, "plot of --compare: .svg or .html")->type_name("FILE"),
        "Output");
  group(app.add_flag("--verbose,-v", f.verbose, "every setting, progress"), "Output");
  group(app.add_option("--fault", f.faults,
                       "inject KIND:RANK:STEP, to see the verdict (docs/verify.md)")
            ->allow_extra_args(false)
            ->type_name("FAULT"),
        "Testing the verifier");
  group(app.add_option("--trainer", f.trainer, "this executable instead of our own")
            ->type_name("FILE"),
        "Testing the verifier");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 1) {
      option->take_last();  // as everywhere: a later one overrides an earlier one
    }
  }
}

}  // namespace

int run_verify(Arguments arguments) {
  VerifyFlags flags;
  Options options;
  CLI::App app("A real sharded training step on this machine, with proof.", "shardlint verify");
  add_flags(app, flags);
  add_lint_flags(app, options);
  const auto [ours, command, dashes] = split_at_dashes(arguments);
  std::vector<std::string> own(ours.begin(), ours.end());
  const bool run = std::find(own.begin(), own.end(), "--run") != own.end();
  if (run && dashes) {
    own.erase(std::remove(own.begin(), own.end(), "--run"), own.end());
    flags.command.assign(command.begin(), command.end());
  } else if (dashes) {
    own.assign(arguments.begin(), arguments.end());
  }
  if (const std::optional<int> code = parse(app, own)) {
    return *code;
  }
  flags.checkpoint = options.checkpoint;
  return verify_configuration(flags, verify_hooks(options));
}

}  // namespace shardlint
