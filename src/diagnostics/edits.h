#pragma once
// Applying edits to text. Findings are read again after every pass, so one pass may leave some out.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint {

// Whether two edits cannot both be made: they share bytes, or begin at one place.
bool overlaps(const Edit& a, const Edit& b);

// Applies the edits of one file, given by byte offsets. Sorted by start; an edit that overlaps one
// already taken is left out and its index is reported. Two insertions at one offset both go in, in
// the order given. Edits outside the text are never applied.
struct Edited {
  std::string text;
  std::vector<std::size_t> skipped;
};
Edited apply_edits(std::string_view text, std::span<const Edit> edits);

// Unified diff with three lines of context; empty when the texts are equal.
std::string unified_diff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace shardlint
