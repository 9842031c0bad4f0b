#pragma once
// "Did you mean": the nearest candidate by edit distance.

#include <span>
#include <string_view>

namespace shardlint {

// Optimal string alignment distance (insert, delete, replace, swap neighbours), or `limit + 1`
// as soon as it is known to exceed `limit`.
unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit);

// The closest candidate within a third of the word's length (at least 1, at most 4), or empty.
// Ties go to the earlier candidate, so that the answer does not depend on anything else.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace shardlint
