// The checkpoint room's opinion of what was saved: structure, checksums and values.

#include "checkpoint/check.h"
#include "ranks/session.h"

namespace shardlint::ranks {

std::vector<Finding> deep_check(const std::string& directory, bool& sound) {
  CheckpointOptions options;
  options.deep = true;
  std::vector<Finding> findings;
  sound = true;
  for (const checkpoint::Finding& finding : checkpoint::check_path(directory, options).findings) {
    const checkpoint::FaultInfo& info = checkpoint::info(finding.fault);
    const Severity severity = finding.severity.value_or(info.severity);
    findings.push_back({std::string(info.code),
                        severity == Severity::error     ? "error"
                        : severity == Severity::warning ? "warning"
                                                        : "info",
                        finding.message, finding.file});
    sound = sound && severity != Severity::error;
  }
  return findings;
}

}  // namespace shardlint::ranks
