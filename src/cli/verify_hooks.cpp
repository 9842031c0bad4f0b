#include "cli/verify_hooks.h"

#include "base/files.h"
#include "report/report.h"

namespace shardlint {

VerifyHooks verify_hooks() {
  VerifyHooks hooks;
  hooks.render = [](const std::vector<Diagnostic>& diagnostics, const std::string& format) {
    Report report;
    report.diagnostics = diagnostics;
    report.text = [](const std::string& path) { return RealDisk().read(path); };
    return find_format(format).render(report, Look{});
  };
  return hooks;
}

}  // namespace shardlint
