// shardlint rules: the list, for people and as JSON for documentation.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "report/report.h"

namespace shardlint {
namespace {

nlohmann::ordered_json describe(const RuleInfo& rule) {
  return {{"code", rule.code},
          {"name", rule.name},
          {"severity", severity_name(rule.severity)},
          {"category", rule.category},
          {"summary", rule.summary},
          {"rationale", rule.rationale},
          {"help", rule.help},
          {"url", rule.url},
          {"tags", rule.tags},
          {"frameworks", rule.frameworks}};
}

}  // namespace

int run_rules(Arguments arguments) {
  Options options;
  std::string format = "text";
  CLI::App app("List the rules.", "shardlint rules");
  app.add_option("--output-format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  add_lint_flags(app, options);
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  const std::vector<RuleInfo> rules = list_rules(options);
  if (format == "json") {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const RuleInfo& rule : rules) {
      out.push_back(describe(rule));
    }
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  for (const RuleInfo& rule : rules) {
    fmt::print("{:<8} {:<8} {:<44} {}\n", rule.code, severity_name(rule.severity), rule.name,
               rule.summary);
  }
  return 0;
}

}  // namespace shardlint
