// Prints what the evaluator claims of scripts, one JSON object a command, for the comparison with
// a real bash (bash_oracle.py).
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "frontend/shell/launcher.h"
#include "frontend/shell/shell.h"

using namespace shardlint;

namespace {

nlohmann::json json_of(const Word& word) {
  nlohmann::json reasons = nlohmann::json::array();
  for (const Piece& piece : word.pieces) {
    if (piece.unknown) {
      reasons.push_back(reason_name(piece.unknown->reason));
    }
  }
  return {{"text", word.text()},
          {"reasons", reasons},
          {"shown", word.shown()},
          {"known", word.known()},
          {"conditional", word.conditional},
          {"open", word.open},
          {"env_default", word.env_default}};
}

void print(const std::string& path) {
  const RealDisk disk;
  Sources sources;
  const Source& source = sources.add(path, disk.read(path).value_or(""));
  const shell::Evaluation result = shell::evaluate(source, sources, disk);
  for (const shell::Command& command : result.commands) {
    nlohmann::json out = {{"file", path},
                          {"line", command.span ? locate(command.span).begin.line : 0},
                          {"launch", shell::is_launch(command)},
                          {"conditional", command.conditional},
                          {"chain", command.chain.size()},
                          {"words", nlohmann::json::array()}};
    shell::Evaluation one;
    one.commands.push_back(command);
    const std::vector<shell::Launch> launch = shell::launches(one, true);
    if (!launch.empty()) {
      out["framework"] = launch[0].framework;
      out["program"] = launch[0].program;
      out["arguments"] = nlohmann::json::array();
      for (const Word& word : launch[0].arguments) {
        out["arguments"].push_back(json_of(word));
      }
    }
    for (const Word& word : command.words) {
      out["words"].push_back(json_of(word));
    }
    std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }
  for (const shell::Launch& launch : shell::launches(result, true)) {
    std::cerr << path << ": launch " << (launch.framework.empty() ? "-" : launch.framework) << ' '
              << launch.program;
    for (const Fact& fact : launch.facts) {
      if (fact.key.rfind("env.", 0) != 0) {
        std::cerr << ' ' << fact.key << '=' << fact.value.text();
      }
    }
    std::cerr << '\n';
  }
  for (const Diagnostic& each : result.diagnostics) {
    std::cerr << path << ':' << each.where.begin.line << ": " << each.code << ' ' << each.message
              << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    print(arguments[i]);
  }
}
