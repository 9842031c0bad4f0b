// The table of subcommands, and the only place where an Error becomes an exit code.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/error.h"
#include "checkpoint/command.h"
#include "cli/commands.h"

namespace shardlint {
namespace {

constexpr Command table[] = {
    {"check", run_check, "lint configurations, launch scripts and recipes"},
    {"checkpoint", checkpoint_command, "inspect, check and compare checkpoints"},
    {"resolve", run_resolve, "every key with the value in force and where it comes from"},
    {"diff", run_diff, "two configurations by the values in force, grouped by what they change"},
    {"explain", run_explain, "what a rule, a key or an upstream error message means"},
    {"rules", run_rules, "list the rules"},
    {"matrix", run_matrix, "which features go with which way of sharding"},
    {"test", run_test, "run the examples of rules"},
    {"verify", run_verify, "a real sharded training step on this machine, with proof"},
    {"server", run_server, "the language server, for editors"},
    {"argv", run_argv, "what is understood of a launch script or command"},
    {"doctor", run_doctor, "what this machine has, held against what a configuration needs"},
    {"config", run_config, "the settings in force, and where each one came from"},
    {"version", run_version, "version, commit, rule pack and upstream snapshots"},
    {"generate-shell-completion", run_completion, "completion script for bash, zsh or fish"},
};

void print_usage(std::FILE* to) {
  fmt::print(to, "usage: shardlint COMMAND [OPTIONS]\n\n");
  for (const Command& command : table) {
    fmt::print(to, "  {:<26} {}\n", command.name, command.summary);
  }
  fmt::print(to, "\n`shardlint COMMAND --help` lists a command's options.\n");
}

int unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : table) {
    names.push_back(command.name);
  }
  const std::string_view near = nearest(name, names);
  fmt::print(
      stderr, "shardlint: there is no command `{}`{}\n", name,
      near.empty() ? "; `shardlint --help` lists them" : fmt::format("; did you mean `{}`?", near));
  return 2;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    print_usage(stderr);
    return 2;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage(stdout);
    return 0;
  }
  const Arguments rest = Arguments(arguments).subspan(1);
  if (name == "--version" || name == "-V") {
    return run_version({});
  }
  for (const Command& command : table) {
    if (command.name == name) {
      return command.run(rest);
    }
  }
  return unknown_command(name);
}

}  // namespace

std::span<const Command> commands() {
  return table;
}

}  // namespace shardlint

int main(int argc, char** argv) {
  int code = 2;
  try {
    code = shardlint::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "shardlint: {}\n", error.what());
    code = 2;
  }
  // A report that could not be written whole (disk full, closed pipe) must not look like a clean
  // run.
  if (std::fflush(stdout) != 0 && code == 0) {
    code = 2;
  }
  return code;
}
