#include "checkpoint/check.h"

#include <algorithm>

#include "base/files.h"
#include "checkpoint/arguments.h"
#include "checkpoint/check_parts.h"
#include "checkpoint/open.h"
#include "checkpoint/records.h"
#include "checkpoint/tree.h"

namespace shardlint {
namespace checkpoint {
namespace {

void take(std::vector<Finding> from, std::vector<Finding>& into) {
  std::move(from.begin(), from.end(), std::back_inserter(into));
}

bool is_error(const Finding& finding) {
  return finding.severity.value_or(info(finding.fault).severity) == Severity::error;
}

// Which earlier iteration could be resumed from instead.
void suggest_earlier(const Tree& tree, std::vector<Finding>& findings) {
  if (tree.root.empty() || !tree.iteration ||
      std::none_of(findings.begin(), findings.end(), is_error)) {
    return;
  }
  for (auto at = tree.iterations.rbegin(); at != tree.iterations.rend(); ++at) {
    if (at->number < *tree.iteration && looks_complete(join_path(tree.root, at->name))) {
      findings.push_back(
          {Fault::iteration_unfinished,
           tree.directory,
           {},
           "",
           "this iteration has errors; the newest complete one before it is " + at->name,
           Severity::info});
      return;
    }
  }
}

}  // namespace

CheckResult check_path(const std::string& path, const CheckpointOptions& options) {
  const Tree tree = resolve(path);
  CheckResult result;
  result.findings = tree.findings;
  take(check_tree(tree), result.findings);
  for (const TreePart& part : tree.parts) {
    Checkpoint checkpoint = open_checkpoint(part.directory);
    checkpoint.role = part.role;
    const Survey files = survey(checkpoint);
    take(std::move(checkpoint.findings), result.findings);
    take(check_files(checkpoint, files), result.findings);
    take(check_pieces(checkpoint), result.findings);
    take(check_keys(checkpoint), result.findings);
    take(check_records(checkpoint, saved_arguments(checkpoint), tree, options.deep),
         result.findings);
    if (options.deep) {
      take(check_steps(checkpoint), result.findings);
    }
    ItemResult items =
        check_items(checkpoint, files, {options.deep, options.threads, options.progress});
    take(std::move(items.findings), result.findings);
    result.bytes_read += items.bytes;
    result.tensors += checkpoint.tensors.size();
    ++result.parts;
  }
  suggest_earlier(tree, result.findings);
  return result;
}

}  // namespace checkpoint

std::vector<Diagnostic> check_checkpoint(const std::string& path,
                                         const CheckpointOptions& options) {
  return checkpoint::to_diagnostics(checkpoint::check_path(path, options).findings);
}

}  // namespace shardlint
