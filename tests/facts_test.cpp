#include <doctest/doctest.h>

#include "facts/config.h"

using namespace shardlint;

TEST_SUITE("facts") {
  TEST_CASE("later layers win and the chain is kept") {
    const Source file("a.yaml", "x: 1\n"), line("command line", "x=2");
    Facts base{
        "megatron-bridge", "", false, "", {{"x", 1, {&file, 0, 1}, {&file, 3, 4}, Origin::set, ""}},
        {&file, 0, 1},     {}};
    Facts over{
        "", "", true, "", {{"x", 2, {&line, 0, 1}, {&line, 2, 3}, Origin::override_value, ""}},
        {}, {}};
    const Config config = merge({base, over});
    CHECK(config.closed);
    REQUIRE(config.find("x"));
    CHECK(config.find("x")->chain.size() == 2);
    CHECK(config.find("x")->value() == Value(2));
    CHECK(config.place("x") == Span{&line, 2, 3});
    CHECK(config.place("y") == Span{&file, 0, 1});
  }
  TEST_CASE("equality is Python's") {
    CHECK(Value(1) == Value(1.0));
    CHECK(Value(true) == Value(1));
    CHECK_FALSE(Value("1") == Value(1));
    CHECK(Value() == Value());
    CHECK_FALSE(unknown(Reason::dynamic, "") == unknown(Reason::dynamic, ""));
    CHECK(Value(List{1, "a"}) == Value(List{1, "a"}));
  }
}
