// shardlint explain WHAT
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "shardlint/lint.h"

namespace shardlint {

int run_explain(Arguments arguments) {
  std::vector<std::string> words;
  CLI::App app("What a rule's code or name, a key, or an upstream error message means.",
               "shardlint explain");
  app.add_option("what", words, "a code, a name, a key or a message")->required();
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  const std::string what = join(words, " ");
  const std::optional<std::string> text = explain(what);
  if (!text) {
    throw Error(fmt::format("nothing is known of `{}`; `shardlint rules` lists the rules", what));
  }
  fmt::print("{}{}", *text, text->ends_with('\n') ? "" : "\n");
  return 0;
}

}  // namespace shardlint
