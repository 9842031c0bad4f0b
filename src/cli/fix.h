#pragma once
// Applying fixes: chosen, applied to text, linted again, and only then written.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shardlint/lint.h"

namespace shardlint {

struct FixRun {
  struct File {
    std::string before, after;
  };
  struct Applied {
    std::string file, code, title;
    Safety safety = Safety::safe;
  };
  std::map<std::string, File> files;  // changed ones only
  std::vector<Applied> applied;       // in the order of the files and of the findings
  std::vector<std::string> refused;   // sentences: which fix was not applied, and why
};

// Lints texts that may not be on disk yet; the key is the file's path.
using LintTexts = std::function<std::vector<Diagnostic>(const std::map<std::string, std::string>&)>;

// Fixes the files of `diagnostics`, pass after pass until nothing changes. A fix stays only when
// its finding is gone afterwards and no new error has come; a pass that does not hold as a whole is
// tried fix by fix. `read` gives the text as it was linted. Nothing is written to disk here.
FixRun fix_findings(const std::vector<Diagnostic>& diagnostics, bool unsafe,
                    const std::function<std::string(const std::string&)>& read,
                    const LintTexts& relint);

}  // namespace shardlint
