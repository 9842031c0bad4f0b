#include "base/edit_distance.h"

#include <algorithm>
#include <vector>

namespace shardlint {

unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) {
    return limit + 1;
  }
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = static_cast<unsigned>(j);
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<unsigned>(i);
    unsigned smallest = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const unsigned replace = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      smallest = std::min(smallest, row[j]);
    }
    if (smallest > limit) {
      return limit + 1;
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  const auto limit = static_cast<unsigned>(
      std::clamp<std::size_t>(word.size() / 3, std::size_t{1}, std::size_t{4}));
  std::string_view best;
  unsigned distance = limit + 1;
  for (const std::string_view candidate : candidates) {
    const unsigned d = edit_distance(word, candidate, limit);
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace shardlint
