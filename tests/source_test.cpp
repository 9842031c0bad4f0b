#include "source/source.h"

#include <doctest/doctest.h>

using namespace shardlint;

TEST_SUITE("source") {
  TEST_CASE("columns count code points, lines end at a line feed") {
    const Source source("f.yaml", "a: \xC3\xA9 # x\r\nb: 2\n");
    CHECK(source.position(0) == Position{0, 1, 1});
    CHECK(source.position(6) == Position{6, 1, 6});  // after the two bytes of é
    CHECK(source.position(11) == Position{11, 2, 1});
    CHECK(source.line_text(1) == "a: \xC3\xA9 # x");
    CHECK(source.line_text(3) == "");
    CHECK(source.position(999).line == 3);
  }
}
