#include "cli/lint_flags.h"

#include <CLI/CLI.hpp>

namespace shardlint {

void add_lint_flags(CLI::App& app, Options& options) {
  const auto list = [&](const char* group, const char* name, std::vector<std::string>& into,
                        const char* type, const char* help) {
    return app.add_option(name, into, help)->type_name(type)->allow_extra_args(false)->group(group);
  };
  list("Rules", "--select", options.select, "RULE,...",
       "rules to apply: codes, prefixes of codes, names, ALL")
      ->delimiter(',');
  list("Rules", "--ignore", options.ignore, "RULE,...", "rules to leave out")->delimiter(',');
  list("Rules", "--rules", options.rule_folders, "DIR", "rule files to add or override with");
  list("World", "--target", options.targets, "FRAMEWORK==VERSION",
       "the framework's version, for example megatron-lm==0.17.0");
  list("World", "--set", options.set, "KEY=VALUE", "a value to lay over every configuration");
  list("World", "--env", options.env, "NAME=VALUE", "a variable of the job's environment");
  list("World", "--source-root", options.source_roots, "DIR", "where imported Python recipes lie");
  app.add_option_function<int>(
         "--world-size", [&](const int& n) { options.world_size = n; },
         "number of ranks of the job")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group("World");
  app.add_option("--gpu", options.gpu, "H100, B200, ... or sm_90")
      ->type_name("NAME")
      ->group("World");
  app.add_option("--framework", options.framework, "take every file as this framework's")
      ->check(CLI::IsMember({"megatron-lm", "megatron-bridge", "verl"}))
      ->group("World");
  app.add_option("--checkpoint", options.checkpoint, "a checkpoint directory to check along")
      ->type_name("DIR")
      ->group("World");
  CLI::Option* open = app.add_flag_callback(
                             "--open-world", [&] { options.world = Options::World::open; },
                             "a key that is absent may be set elsewhere")
                          ->group("World");
  app.add_flag_callback(
         "--closed-world", [&] { options.world = Options::World::closed; },
         "a key that is absent has its default")
      ->excludes(open)
      ->group("World");
  app.add_option("--jobs,-j", options.jobs, "threads; 0: one a core")->type_name("N");
}

}  // namespace shardlint
