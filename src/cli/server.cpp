// shardlint server: the language server on standard input and output.
#include "lsp/server.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "cli/project.h"

namespace shardlint {

int run_server(Arguments arguments) {
  Options options;
  ProjectFlags flags;
  CLI::App app("The language server, on standard input and output.", "shardlint server");
  bool stdio = true;
  app.add_flag("--stdio", stdio, "accepted: there is no other way");
  add_lint_flags(app, options);
  add_project_flags(app, flags);
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  auto project = std::make_unique<Project>(flags, options);
  const lsp::Hooks hooks{[&](const std::string& path, std::string_view text,
                             const std::map<std::string, std::string>& unsaved) {
                           return project->lint_text(path, text, unsaved);
                         },
                         [&] { project = std::make_unique<Project>(flags, options); }};
  return lsp::serve(stdin, stdout, hooks);
}

}  // namespace shardlint
