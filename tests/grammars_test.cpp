#include "frontend/grammars/grammars.h"

#include <string>

#include <doctest/doctest.h>

using namespace shardlint;

namespace {

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

}  // namespace

TEST_SUITE("grammars") {
  TEST_CASE("the runtime takes both grammars") {
    const Tree bash = parse_tree(Grammar::bash, "torchrun --nproc 8 x.py\n");
    REQUIRE(bash);
    CHECK_FALSE(ts_node_has_error(ts_tree_root_node(bash.get())));
    CHECK(ts_language_abi_version(ts_tree_language(bash.get())) == 15);
    const Tree py = parse_tree(Grammar::python, "def f(a, *, b=1):\n  return f'{a}{b}'\n");
    REQUIRE(py);
    CHECK_FALSE(ts_node_has_error(ts_tree_root_node(py.get())));
    CHECK(ts_language_abi_version(ts_tree_language(py.get())) == 14);
  }

  TEST_CASE("more children than an older runtime can hold") {
    for (const Grammar grammar : {Grammar::bash, Grammar::python}) {
      for (const std::string& text : {repeat("# a comment\n", 70000), repeat("x=1\n", 70000),
                                      repeat("(", 65600), repeat("[", 65600)}) {
        CHECK(parse_tree(grammar, text));
      }
    }
  }

  TEST_CASE("a text above the size guard is not parsed") {
    CHECK_FALSE(parse_tree(Grammar::bash, std::string(max_parsed_bytes + 1, ' ')));
    CHECK(parse_tree(Grammar::bash, ""));
  }
}
