#include "diagnostics/edits.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/strings.h"

namespace shardlint {
namespace {

// Longest common subsequence is quadratic: trim the common head and tail first, then fall back to
// "all replaced" above a size where it would be felt.
constexpr std::size_t quadratic_limit = 4000;

struct Hunk {
  std::size_t old_begin, old_end, new_begin, new_end;
};

std::vector<Hunk> changes(const std::vector<std::string_view>& a,
                          const std::vector<std::string_view>& b) {
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) {
    ++head;
  }
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const std::size_t n = a.size() - head - tail, m = b.size() - head - tail;
  if (n == 0 && m == 0) {
    return {};
  }
  if (n * m > quadratic_limit * quadratic_limit) {
    return {{head, head + n, head, head + m}};
  }
  std::vector<std::vector<std::uint32_t>> lcs(n + 1, std::vector<std::uint32_t>(m + 1, 0));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      lcs[i][j] = a[head + i] == b[head + j] ? lcs[i + 1][j + 1] + 1
                                             : std::max(lcs[i + 1][j], lcs[i][j + 1]);
    }
  }
  std::vector<Hunk> out;
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && a[head + i] == b[head + j]) {
      ++i, ++j;
      continue;
    }
    Hunk hunk{head + i, head + i, head + j, head + j};
    while ((i < n || j < m) && !(i < n && j < m && a[head + i] == b[head + j])) {
      if (j >= m || (i < n && lcs[i + 1][j] >= lcs[i][j + 1])) {
        ++i;
      } else {
        ++j;
      }
    }
    hunk.old_end = head + i, hunk.new_end = head + j;
    out.push_back(hunk);
  }
  return out;
}

}  // namespace

bool overlaps(const Edit& a, const Edit& b) {
  if (a.where.file != b.where.file) {
    return false;
  }
  const auto [a0, a1] = std::pair(a.where.begin.offset, a.where.end.offset);
  const auto [b0, b1] = std::pair(b.where.begin.offset, b.where.end.offset);
  return a0 == b0 || (a0 < b1 && b0 < a1);
}

Edited apply_edits(std::string_view text, std::span<const Edit> edits) {
  std::vector<std::size_t> order(edits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return edits[a].where.begin.offset < edits[b].where.begin.offset;
  });
  Edited out;
  std::size_t done = 0;
  bool any = false;
  std::size_t last_end = 0;
  for (const std::size_t index : order) {
    const std::size_t begin = edits[index].where.begin.offset, end = edits[index].where.end.offset;
    if (begin > end || end > text.size() || (any && begin < last_end)) {
      out.skipped.push_back(index);
      continue;
    }
    out.text += text.substr(done, begin - done);
    out.text += edits[index].text;
    done = last_end = end;
    any = true;
  }
  out.text += text.substr(done);
  std::sort(out.skipped.begin(), out.skipped.end());
  return out;
}

std::string unified_diff(std::string_view name, std::string_view before, std::string_view after) {
  if (before == after) {
    return {};
  }
  const auto old_lines = split(before, '\n'), new_lines = split(after, '\n');
  const auto hunks = changes(old_lines, new_lines);
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  constexpr std::size_t context = 3;
  for (std::size_t first = 0; first < hunks.size();) {
    std::size_t last = first;
    while (last + 1 < hunks.size() &&
           hunks[last + 1].old_begin <= hunks[last].old_end + 2 * context) {
      ++last;
    }
    const std::size_t lead = std::min(context, hunks[first].old_begin);
    const std::size_t old_from = hunks[first].old_begin - lead;
    const std::size_t new_from = hunks[first].new_begin - lead;
    std::string body;
    std::size_t at = old_from, old_count = 0, new_count = 0;
    const auto same = [&](std::size_t until) {
      for (; at < until; ++at, ++old_count, ++new_count) {
        if (at + 1 == old_lines.size() && old_lines[at].empty()) {
          --old_count, --new_count;
          continue;
        }
        body += fmt::format(" {}\n", old_lines[at]);
      }
    };
    for (std::size_t h = first; h <= last; ++h) {
      same(hunks[h].old_begin);
      for (; at < hunks[h].old_end; ++at, ++old_count) {
        body += fmt::format("-{}\n", old_lines[at]);
      }
      for (std::size_t j = hunks[h].new_begin; j < hunks[h].new_end; ++j, ++new_count) {
        body += fmt::format("+{}\n", new_lines[j]);
      }
    }
    same(std::min(old_lines.size(), at + context));
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", old_from + 1, old_count, new_from + 1, new_count,
                       body);
    first = last + 1;
  }
  return out;
}

}  // namespace shardlint
