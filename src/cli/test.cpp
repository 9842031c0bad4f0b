// shardlint test: the examples of rules, and their mutants.
#include <CLI/CLI.hpp>
#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "rules/examples.h"
#include "rules/load.h"
#include "rules/pack.h"

namespace shardlint {

int run_test(Arguments arguments) {
  CLI::App app("Run the examples of rules.", "shardlint test");
  std::vector<std::string> folders;
  std::vector<std::string> only, frameworks;
  bool mutate = false, tap = false, present = false;
  app.add_option("folders", folders, "folders of rules (default: the built-in rules)");
  app.add_option("--rule", only, "codes or names; all by default");
  app.add_option("--framework", frameworks, "rules that have a case for it; all by default");
  app.add_flag("--mutate", mutate, "change each term of each condition: an example must notice");
  app.add_flag("--present", present, "run the examples that are there; ask for no others");
  app.add_flag("--tap", tap, "one line an example, in the Test Anything Protocol");
  if (const auto code = parse(app, arguments)) {
    return *code;
  }
  rules::Pool pool;
  rules::RuleSet all = rules::builtin_rules_with_examples();
  std::vector<const rules::Rule*> chosen;
  for (const std::string& folder : folders) {
    if (!RealDisk().is_directory(folder)) {
      throw Error(folder + " is not a folder");
    }
    rules::Loaded loaded = rules::load_rules(RealDisk(), folder, pool, all);
    if (!loaded.faults.empty()) {
      throw Error("the rules cannot be used:\n" + rules::fault_text(loaded.faults));
    }
    all = std::move(loaded.rules);
  }
  for (const rules::Rule& rule : all.rules) {
    const auto named = [&](const std::string& name) {
      return rule.id == name || rule.name == name;
    };
    const auto inside = [&](const std::string& folder) { return rule.file.starts_with(folder); };
    const auto is_for = [&](const std::string& framework) {
      return std::any_of(rule.cases.begin(), rule.cases.end(),
                         [&](const rules::Case& c) { return c.framework == framework; });
    };
    if ((frameworks.empty() || std::any_of(frameworks.begin(), frameworks.end(), is_for)) &&
        (only.empty() || std::any_of(only.begin(), only.end(), named)) &&
        (folders.empty() || std::any_of(folders.begin(), folders.end(), inside))) {
      chosen.push_back(&rule);
    }
  }
  std::size_t passed = 0, failed = 0;
  rules::Programs programs(all);
  for (const rules::Rule* rule : chosen) {
    const auto results =
        mutate ? rules::run_mutants(all, *rule) : rules::run_examples(all, *rule, &programs);
    for (const rules::ExampleResult& result : results) {
      if (present && result.demand) {
        continue;
      }
      (result.passed ? passed : failed) += 1;
      if (tap) {
        fmt::print("{} {} - {}{}{}\n", result.passed ? "ok" : "not ok", passed + failed,
                   result.name, result.problem.empty() ? "" : ": ", result.problem);
      } else if (!result.passed) {
        fmt::print("{}: {}\n", result.name, result.problem);
      }
    }
  }
  if (tap) {
    fmt::print("1..{}\n", passed + failed);
  } else {
    fmt::print("{} rules: {} passed, {} failed\n", chosen.size(), passed, failed);
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace shardlint
