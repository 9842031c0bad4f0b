// shardlint argv -- COMMAND...
#include "frontend/shell/argv.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/parse.h"

namespace shardlint {

int run_argv(Arguments arguments) {
  std::vector<std::string> words, environment;
  bool all = false;
  CLI::App app(
      "What is understood of a launch script, or of a command after --: every word, where it was "
      "written, and what cannot be known. Nothing is run.",
      "shardlint argv");
  app.add_option("words", words, "a script and its arguments, or a command")->required();
  app.add_option("--env", environment, "NAME=VALUE: a variable of the environment it starts in")
      ->expected(1)
      ->take_all();
  app.add_flag("--all", all, "also commands that launch no program");
  app.positionals_at_end();
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  shell::Options options;
  for (const std::string& each : environment) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(fmt::format("--env takes NAME=VALUE; got `{}`", each));
    }
    options.environment[each.substr(0, equals)] = each.substr(equals + 1);
  }
  Sources sources;
  fmt::print("{}", shell::explain_words(words, sources, RealDisk(), options, all));
  return 0;
}

}  // namespace shardlint
