#pragma once
// Reading a command's arguments with CLI11: one behaviour for help, mistakes and argument files.

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace shardlint {

// Fills what the app's options are bound to. An exit code when the command should end here: 0
// after --help or --describe (the options, one a line, for completions and the manual), 2 after
// telling a mistake on stderr.
std::optional<int> parse(CLI::App& app, Arguments arguments);

// What stands before the first `--` is ours; what follows it is an argument list of the framework
// or another program's command.
struct SplitArguments {
  Arguments own, foreign;
  bool dashes = false;  // there is a `--`
};
SplitArguments split_at_dashes(Arguments arguments);

// Replaces each `@FILE` by the lines of FILE (blank lines left out), one argument a line. Nothing
// after `--` is touched. Throws Error when a file cannot be read.
std::vector<std::string> expand_argument_files(Arguments arguments);

}  // namespace shardlint
