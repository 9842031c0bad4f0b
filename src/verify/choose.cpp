// Which configuration is meant, and whether its findings forbid running it.
#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "verify/verify.h"

namespace shardlint::verify {

Chosen choose_configuration(const VerifyFlags& flags, const VerifyHooks& hooks,
                            LintedConfig& linted, Sources& sources) {
  if (flags.paths.empty()) {
    return {};
  }
  if (!hooks.read) {
    throw Error("this build cannot read configurations");
  }
  linted = hooks.read(flags.paths, sources);
  std::vector<const Config*> found;
  std::vector<std::string> names;
  for (const Config& config : linted.configs) {
    names.push_back(config.instance.empty() ? "(unnamed)" : config.instance);
    if (flags.instance.empty() || config.instance == flags.instance) {
      found.push_back(&config);
    }
  }
  if (linted.configs.empty()) {
    throw Error(join(flags.paths, ", ") + ": no training configuration in there");
  }
  if (found.size() != 1) {
    throw Error(fmt::format(
        "{}: {} configurations{}: choose one with --instance: {}", join(flags.paths, ", "),
        found.size(), flags.instance.empty() ? "" : " named " + flags.instance, join(names, ", ")));
  }
  Chosen chosen{found[0], {}};
  std::size_t errors = 0;
  for (const Diagnostic& d : linted.diagnostics) {
    const bool ours = d.instance.empty() || d.instance == chosen.config->instance;
    if (ours && d.severity == Severity::error && d.verdict == Verdict::violation) {
      ++errors;
      fmt::print(stderr, "{}:{}:{}: error {} {}\n", d.where.file, d.where.begin.line,
                 d.where.begin.column, d.code, d.message);
    }
  }
  if (errors > 0 && !flags.force) {
    fmt::print(stderr,
               "shardlint: {} error{} in the configuration: it would not train as written; "
               "--force verifies it nevertheless\n",
               errors, errors == 1 ? "" : "s");
    chosen.refused = 1;
  }
  return chosen;
}

}  // namespace shardlint::verify
