#pragma once
// A baseline: the findings that a project had on the day it was written, kept quiet until they are
// mended. A JSON file that people can review:
//
//   {"version": 1, "findings": [
//     {"path": "conf/a.yaml", "code": "CKP104", "case": "", "instance": "", "key": "ckpt_format",
//      "count": 1}]}
//
// Paths are relative to the file's folder. Line numbers have no part in it.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint {

class Baseline {
 public:
  // Throws Error when the text is not a baseline; `path` is its file's.
  static Baseline read(std::string_view text, const std::string& path);
  static Baseline of(const std::vector<Diagnostic>& diagnostics, const std::string& path);

  // Moves what is known from `diagnostics` into `suppressed`; of more findings than were counted
  // the first ones are known. Returns how many entries were not met any more.
  std::size_t apply(std::vector<Diagnostic>& diagnostics,
                    std::vector<Suppressed>& suppressed) const;

  // Without the entries that none of these findings meets.
  Baseline pruned(const std::vector<Diagnostic>& all) const;

  std::string text() const;
  std::size_t size() const;

 private:
  struct Entry {
    std::string path, code, case_id, instance, key;
    auto operator<=>(const Entry&) const = default;
  };
  Entry entry_of(const Diagnostic& d) const;

  std::string folder_;  // absolute
  std::map<Entry, std::size_t> counts_;
};

}  // namespace shardlint
