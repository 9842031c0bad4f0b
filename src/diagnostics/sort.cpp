#include "diagnostics/sort.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"

namespace shardlint {
namespace {

auto order(const Diagnostic& d) {
  return std::tie(d.where.file, d.where.begin.offset, d.where.end.offset, d.code, d.case_id,
                  d.instance, d.message);
}

// What lines cannot change; repeats are counted.
void set_fingerprint(Diagnostic& d, std::string_view salt, std::map<std::string, int>& seen) {
  const std::string identity =
      d.code + '\n' + d.case_id + '\n' + d.where.file + '\n' + d.instance + '\n' + d.key.path;
  const int repeat = seen[identity]++;
  d.fingerprint = fmt::format(
      "{:016x}", stable_hash(identity + '\n' + std::to_string(repeat) + std::string(salt)));
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
    set_fingerprint(d, "", seen);
  }
}

void sort_suppressed(std::vector<Suppressed>& suppressed) {
  std::stable_sort(suppressed.begin(), suppressed.end(), [](const auto& a, const auto& b) {
    return order(a.diagnostic) < order(b.diagnostic);
  });
  std::map<std::string, int> seen;
  for (Suppressed& s : suppressed) {
    set_fingerprint(s.diagnostic, "suppressed", seen);
  }
}

}  // namespace shardlint
