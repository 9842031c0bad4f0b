// shardlint version
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/parse.h"
#include "report/tool.h"

namespace shardlint {

int run_version(Arguments arguments) {
  std::string format = "text";
  CLI::App app("Version, commit, rule pack and upstream snapshots.", "shardlint version");
  app.add_option("--output-format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  const Tool& tool = this_tool();
  if (format == "json") {
    nlohmann::ordered_json catalogs = nlohmann::ordered_json::array();
    for (const Snapshot& s : tool.catalogs) {
      catalogs.push_back({{"framework", s.framework},
                          {"repository", s.repository},
                          {"snapshot", s.commit},
                          {"version", s.version}});
    }
    const nlohmann::ordered_json out = {
        {"name", tool.name}, {"version", tool.version},     {"commit", tool.commit},
        {"date", tool.date}, {"rule_pack", tool.rule_pack}, {"catalogs", std::move(catalogs)}};
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{} {} ({}{}{})\n", tool.name, tool.version, tool.commit, tool.date.empty() ? "" : " ",
             tool.date);
  for (const Snapshot& s : tool.catalogs) {
    fmt::print("+ {} {} ({} {})\n", s.framework, s.version, s.repository, s.commit.substr(0, 10));
  }
  return 0;
}

}  // namespace shardlint
