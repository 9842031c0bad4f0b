#include "diagnostics/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/strings.h"

namespace shardlint {
namespace {

auto order(const Diagnostic& d) {
  return std::tie(d.where.file, d.where.begin.offset, d.where.end.offset, d.code, d.case_id,
                  d.instance, d.message);
}

}  // namespace

void sort_diagnostics(std::vector<Diagnostic>& diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const auto& a, const auto& b) { return order(a) < order(b); });
  diagnostics.erase(std::unique(diagnostics.begin(), diagnostics.end(),
                                [](const auto& a, const auto& b) {
                                  return order(a) == order(b) && a.verdict == b.verdict;
                                }),
                    diagnostics.end());
  std::map<std::string, int> seen;
  for (Diagnostic& d : diagnostics) {
    const std::string identity =
        d.code + '\n' + d.case_id + '\n' + d.where.file + '\n' + d.instance + '\n' + d.key.path;
    const int repeat = seen[identity]++;
    d.fingerprint = fmt::format("{:016x}", stable_hash(identity + '\n' + std::to_string(repeat)));
  }
}

}  // namespace shardlint
