#pragma once
// From a configuration to its findings: the catalogue's, then those of the framework's program.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lint/profile.h"
#include "lint/units.h"
#include "rules/engine.h"
#include "rules/pack.h"

namespace shardlint {

// The rules of a run and the programs made from them. Safe to share between threads.
class RuleBook {
 public:
  // Built-in rules and those of the option's folders. Throws Error when one cannot be read.
  explicit RuleBook(const Options& options);
  const rules::RuleSet& rules() const { return *rules_; }
  // Null when the framework is not known.
  const rules::Program* program(std::string_view framework, std::string_view version) const;
  // Whether --select and --ignore leave it on. A code, a code's beginning, a name, or ALL.
  bool selected(std::string_view code, std::string_view name) const;
  void keep_selected(std::vector<Diagnostic>& diagnostics) const;
  Profile& profile() const { return profile_; }

 private:
  rules::Pool pool_;
  rules::RuleSet own_;  // built-in ones and those of the folders, where there are folders
  const rules::RuleSet* rules_ = &rules::builtin_rules();
  std::vector<std::string> select_, ignore_;
  mutable Profile profile_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<rules::Program>, std::less<>> programs_;
};

// Findings of one configuration, not sorted. `after` (may be null) gets the configuration as the
// program leaves it.
std::vector<Diagnostic> judge(const Unit& unit, const RuleBook& book, Config* after = nullptr);

}  // namespace shardlint
