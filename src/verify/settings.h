#pragma once
// Finds in a configuration what the trainer can imitate, whatever the framework calls it.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"
#include "verify/plan.h"

namespace shardlint::verify {

// The settings of one engine of a configuration, asked for by the last part of their key: the
// frameworks agree on these names far more than on the paths that lead to them. What is asked for
// is remembered, so that the rest can be listed as not exercised.
class Settings {
 public:
  // `scope`: of verl, whose roles hold one engine each; empty picks the actor, or the only one.
  Settings(const Config* config, std::string_view scope);

  // The value in force under the first of the names that has one, or null. Unknown values answer
  // null here; find() tells.
  const Value* known(std::initializer_list<std::string_view> names) const;
  bool is_true(std::initializer_list<std::string_view> names) const;
  bool is_false(std::initializer_list<std::string_view> names) const;
  std::optional<std::int64_t> integer(std::initializer_list<std::string_view> names) const;
  std::optional<double> number(std::initializer_list<std::string_view> names) const;
  std::string text(std::initializer_list<std::string_view> names) const;  // empty: not there
  // Some value is there and cannot be known.
  bool is_unknown(std::initializer_list<std::string_view> names) const;

  // What became of every key of that name; keys that no one wrote are passed over.
  void tell(std::initializer_list<std::string_view> names, Use use, std::string how,
            bool limits = false);
  // Lists what nobody told about, and hands over everything in its final order.
  std::vector<Setting> finish();

  const std::string& scope() const { return scope_; }

 private:
  std::vector<std::string> keys_of(std::string_view name) const;
  void add(const std::string& key, Use use, std::string how, bool limits);
  const Config* config_;
  std::string scope_;
  std::vector<std::string> keys_;  // of the scope and those of no scope
  std::set<std::string> told_;
  std::vector<Setting> settings_;
};

}  // namespace shardlint::verify
