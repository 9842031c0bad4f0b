#include <doctest/doctest.h>

#include "diagnostics/edits.h"

using namespace shardlint;

namespace {
Edit edit(std::uint32_t begin, std::uint32_t end, std::string text) {
  return {{"f", {begin, 1, 1}, {end, 1, 1}}, std::move(text)};
}
}  // namespace

TEST_SUITE("diagnostics") {
  TEST_CASE("edits are applied from left to right, overlaps left out") {
    const Edit edits[] = {edit(4, 5, "X"), edit(0, 1, "AB"), edit(4, 6, "lost"), edit(6, 6, "!"),
                          edit(90, 91, "outside")};
    const Edited out = apply_edits("abcdef", edits);
    CHECK(out.text == "ABbcdXf!");
    CHECK(out.skipped == std::vector<std::size_t>{2, 4});
  }
  TEST_CASE("a diff shows the change and three lines around it") {
    CHECK(unified_diff("f", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n") ==
          "--- f\n+++ f\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n 6\n");
    CHECK(unified_diff("f", "a", "a") == "");
  }
}
