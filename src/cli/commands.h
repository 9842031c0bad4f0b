#pragma once
// The subcommands, one file each. A command gets what follows its name and returns the exit code:
// 0 clean, 1 findings, 2 could not do it. Errors are thrown and told in main.

#include <span>
#include <string>
#include <string_view>

namespace shardlint {

using Arguments = std::span<const std::string>;

struct Command {
  std::string_view name;
  int (*run)(Arguments);
  std::string_view summary;
};

// In the order in which they are listed to people.
std::span<const Command> commands();

int run_check(Arguments);
int run_config(Arguments);
int run_explain(Arguments);
int run_matrix(Arguments);
int run_resolve(Arguments);
int run_diff(Arguments);
int run_rules(Arguments);
int run_server(Arguments);
int run_test(Arguments);
int run_verify(Arguments);
int run_argv(Arguments);
int run_doctor(Arguments);
int run_version(Arguments);
int run_completion(Arguments);

}  // namespace shardlint
