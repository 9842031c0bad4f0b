// The checkpoint room's opinion of what was saved.

#include "checkpoint/open.h"
#include "ranks/session.h"

namespace shardlint::ranks {

std::vector<Finding> deep_check(const std::string& directory, bool& sound) {
  const checkpoint::Checkpoint found = checkpoint::open_checkpoint(directory);
  std::vector<Finding> findings;
  sound = found.has_metadata;
  for (const checkpoint::Finding& finding : found.findings) {
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
