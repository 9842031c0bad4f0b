// shardlint doctor
#include "verify/doctor.h"

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "cli/verify_hooks.h"

namespace shardlint {

int run_doctor(Arguments arguments) {
  DoctorFlags flags;
  Options options;
  CLI::App app("What this machine has, held against what a configuration needs.",
               "shardlint doctor");
  app.add_option("config", flags.paths, "the configuration that is to run here");
  app.add_option("--instance", flags.instance, "which configuration of a file that holds several")
      ->type_name("NAME");
  app.add_option("--python", flags.python, "the interpreter whose packages count")
      ->type_name("FILE");
  app.add_flag("--smoke-test", flags.smoke_test, "uv and pytest are needed too");
  app.add_option("--output-format", flags.format,
                 "text, json, or a format of `check` for what is missing");
  add_lint_flags(app, options);
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  return doctor(flags, verify_hooks(options));
}

}  // namespace shardlint
