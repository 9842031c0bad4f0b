#pragma once
// What Hydra refuses, said at the word that it refuses.
//   HYD101 unknown-override-key     no such key (struct mode)
//   HYD102 override-key-exists      + on a key that has a value
//   HYD103 unknown-group-option     the group has no such option
//   HYD104 override-syntax          not an override
//   HYD105 group-not-in-defaults    the group is chosen nowhere
//   HYD106 nothing-to-delete        ~ on a key that has no value
//   HYD107 group-chosen-twice
//   HYD108 group-force-added        ++ on a group
//   HYD109 sweep-without-multirun
//   HYD110 unknown-field            + adds a key that the class behind the section does not take
//   HYD111 unknown-config-name
//   HYD112 repeated-override        the last one wins
//   HYD113 override-refused         what replaces a value cannot be put there

#include <string>
#include <vector>

#include "frontend/overrides/hydra_grammar.h"
#include "frontend/words.h"
#include "schema/schema.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

class HydraErrors {
 public:
  HydraErrors(const Schema& schema, std::vector<Diagnostic>& out) : schema_(schema), out_(out) {}
  Diagnostic& add(const char* code, const char* name, const Word& word, const Span& at,
                  std::string message, std::string_view key);
  void fix(Diagnostic& d, std::string title, Safety safety, const Span& where, std::string text);

 private:
  const Schema& schema_;
  std::vector<Diagnostic>& out_;
};

}  // namespace shardlint
