#include "cli/profile.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace shardlint {
namespace {

constexpr std::size_t shown = 25;

std::uint64_t total(const std::vector<Timing>& rows) {
  std::uint64_t sum = 0;
  for (const Timing& row : rows) {
    sum += row.nanoseconds;
  }
  return sum;
}

std::string table(std::string_view title, std::vector<Timing> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Timing& a, const Timing& b) { return a.nanoseconds > b.nanoseconds; });
  const double all = static_cast<double>(std::max<std::uint64_t>(1, total(rows)));
  std::string out =
      fmt::format("{:<48} {:>10} {:>8} {:>9} {:>9}\n", title, "ms", "share", "calls", "us each");
  const std::vector<Timing> rest(rows.begin() + std::min(shown, rows.size()), rows.end());
  rows.resize(std::min(shown, rows.size()));
  const auto line = [&](std::string_view name, std::uint64_t calls, std::uint64_t nanoseconds) {
    const auto time = static_cast<double>(nanoseconds);
    out += fmt::format("  {:<46} {:>10.3f} {:>7.1f}% {:>9} {:>9.2f}\n", name, time / 1e6,
                       100 * time / all, calls,
                       calls == 0 ? 0 : time / 1e3 / static_cast<double>(calls));
  };
  for (const Timing& row : rows) {
    line(row.name, row.calls, row.nanoseconds);
  }
  if (!rest.empty()) {
    std::uint64_t calls = 0;
    for (const Timing& row : rest) {
      calls += row.calls;
    }
    line(fmt::format("{} others", rest.size()), calls, total(rest));
  }
  return out;
}

}  // namespace

std::string profile_text(std::span<const Timing> timings) {
  std::vector<Timing> phases, rules, rewrites;
  for (const Timing& timing : timings) {
    (timing.phase == "rule"      ? rules
     : timing.phase == "rewrite" ? rewrites
                                 : phases)
        .push_back(timing);
  }
  return table("phase, all threads together", phases) + table("rule", rules) +
         table("rewrite", rewrites);
}

}  // namespace shardlint
