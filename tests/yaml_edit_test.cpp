// Edits of YAML text: only the key that is meant changes.

#include <string>

#include <doctest/doctest.h>

#include "diagnostics/edits.h"
#include "frontend/yaml/edit.h"
#include "frontend/yaml/edit_flags.h"

using namespace shardlint;

namespace {

std::string edited(const std::string& text, const std::vector<yaml::KeyChange>& changes,
                   yaml::Mode mode = yaml::Mode::omegaconf) {
  const Source source("f.yaml", text);
  const yaml::Document document = yaml::read(source);
  REQUIRE(document.root());
  const yaml::EditPlan plan = yaml::edit_keys(document, *document.root(), changes, mode);
  return plan ? apply_edits(text, plan.edits).text : "refused: " + plan.refusal;
}

struct Row {
  std::string text;
  yaml::KeyChange change;
  std::string expected;
};

}  // namespace

TEST_SUITE("yaml-edit") {
  TEST_CASE("set: quotes, comments and line breaks stay") {
    const Row rows[] = {
        {"a:\n  b: 1  # why\n  c: 2\n", {"a.b", 8}, "a:\n  b: 8  # why\n  c: 2\n"},
        {"a: \"x\" # c\r\nb: 1\r\n", {"a", "y"}, "a: \"y\" # c\r\nb: 1\r\n"},
        {"a: 'x'\n", {"a", "it's"}, "a: 'it''s'\n"},
        {"a: x\n", {"a", "1e-4"}, "a: '1e-4'\n"},
        {"a: x\n", {"a", 1e-5}, "a: 1.0e-05\n"},
        {"a: x\n", {"a", "yes: no"}, "a: 'yes: no'\n"},
        {"a: x\n", {"a", ""}, "a: ''\n"},
        {"a: 'x'\n", {"a", true}, "a: true\n"},
        {"a: False # x\n", {"a", true}, "a: True # x\n"},
        {"a: 1\n", {"a", Value()}, "a: null\n"},
        {"a:   # none yet\nb: 1\n", {"a", 3}, "a: 3   # none yet\nb: 1\n"},
        {"a:\nb: 1\n", {"a", 3}, "a: 3\nb: 1\n"},
        {"{a: 1, b, c: [x]}\n", {"b", 3}, "{a: 1, b: 3, c: [x]}\n"},
        {"a: [1,\n    2]\nb: 1\n", {"a", List{Value(1)}}, "a: [1]\nb: 1\n"},
        {"a:\n  - x\n  - y\nb: 1\n", {"a", "x"}, "a: x\nb: 1\n"},
        {"a: |\n  text\n  more\n\nb: 1\n", {"a", "x"}, "a: x\n\nb: 1\n"},
        {"a: multi\n  line # c\nb: 1\n", {"a", "x"}, "a: x # c\nb: 1\n"},
        {"a: !!str 3\n", {"a", 4}, "a: 4\n"},
        {"\xEF\xBB\xBF"
         "a: \xC3\xA9\n",
         {"a", 1},
         "\xEF\xBB\xBF"
         "a: 1\n"},
        {"x: &x 1\na: *x\n", {"a", 2}, "x: &x 1\na: 2\n"},
        {"x: &x 1\na: *x\n", {"x", 2}, "refused: &x is used elsewhere too"},
        {"x: &x {k: 1}\na: *x\n", {"x.k", 2}, "refused: &x is used elsewhere too"},
        {"x: &x {k: 1}\na: *x\n", {"a.k", 2}, "refused: 'a' is no section that can be edited"},
        {"x: &x {k: 1}\na:\n  <<: *x\n  j: 1\n",
         {"a.k", 2},
         "x: &x {k: 1}\na:\n  <<: *x\n  j: 1\n  k: 2\n"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CHECK(edited(row.text, {row.change}) == row.expected);
    }
  }

  TEST_CASE("insert: beside its siblings, as they are written") {
    const Row rows[] = {
        {"a:\n    b: 1  # why\n\nc: 2\n", {"a.x", 8}, "a:\n    b: 1  # why\n    x: 8\n\nc: 2\n"},
        {"a:\r\n  b: 1\r\nc: 2", {"d", 8}, "a:\r\n  b: 1\r\nc: 2\r\nd: 8"},
        {"a:\n  b: 1\n", {"n.m.x", 8}, "a:\n  b: 1\nn:\n  m:\n    x: 8\n"},
        {"a:\n    b: 1\n", {"n.x", 8}, "a:\n    b: 1\nn:\n    x: 8\n"},
        {"a: {b: 1}\n", {"a.x", 8}, "a: {b: 1, x: 8}\n"},
        {"a: {b: 1, }\n", {"a.x", 8}, "a: {b: 1, x: 8, }\n"},
        {"a: {}\n", {"a.x.y", 8}, "a: {x: {y: 8}}\n"},
        {"a: {\n  b: 1,\n  c: 2\n}\n", {"a.x", 8}, "a: {\n  b: 1,\n  c: 2,\n  x: 8\n}\n"},
        {"a:\nb: 1\n", {"a.x", 8}, "a:\n  x: 8\nb: 1\n"},
        {"a: null # c\nb: 1\n", {"a.x", 8}, "a:  # c\n  x: 8\nb: 1\n"},
        {"a:\n  b:\n    - x\n    - y\n# end\n",
         {"a.x", 8},
         "a:\n  b:\n    - x\n    - y\n  x: 8\n# end\n"},
        {"a:\n  b: |+\n    text\n\nc: 1\n", {"a.x", 8}, "a:\n  x: 8\n  b: |+\n    text\n\nc: 1\n"},
        {"a: [1, 2]\n", {"a.x", 8}, "refused: 'a' is no section that can be edited"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CHECK(edited(row.text, {row.change}) == row.expected);
    }
    CHECK(edited("a: {x: 1}\n", {{"s.p", 1}, {"a.x", 2}, {"s.q", 3}}) ==
          "a: {x: 2}\ns:\n  p: 1\n  q: 3\n");
  }

  TEST_CASE("remove: whole lines, commas, the last entry") {
    const auto gone = [](std::string key) { return yaml::KeyChange{std::move(key), {}, true}; };
    const Row rows[] = {
        {"a: 1\nb: 2 # gone too\nc: 3\n", gone("b"), "a: 1\nc: 3\n"},
        {"a: 1\nb: 2", gone("b"), "a: 1"},
        {"a:\n  b:\n    - x\n  c: 1\n", gone("a.b"), "a:\n  c: 1\n"},
        {"a:\n  b: 1\nc: 1\n", gone("a.b"), "a: {}\nc: 1\n"},
        {"a: {b: 1, c: 2, d: 3}\n", gone("a.b"), "a: {c: 2, d: 3}\n"},
        {"a: {b: 1, c: 2, d: 3}\n", gone("a.d"), "a: {b: 1, c: 2}\n"},
        {"a: {b: 1}\n", gone("a.b"), "a: {}\n"},
        {"a: 1\n", gone("b"), "refused: there is no such key"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CHECK(edited(row.text, {row.change}) == row.expected);
    }
  }

  TEST_CASE("one half of a duplicate") {
    const std::string text = "a: 1 # first\nb: 2\na: 3\n";
    const Source source("f.yaml", text);
    const yaml::Document document = yaml::read(source);
    const yaml::Duplicate& twice = document.duplicates.at(0);
    const yaml::EditPlan first = yaml::remove_entry(document, *twice.mapping, twice.first);
    CHECK(apply_edits(text, first.edits).text == "b: 2\na: 3\n");
    const yaml::EditPlan second = yaml::remove_entry(document, *twice.mapping, twice.again);
    CHECK(apply_edits(text, second.edits).text == "a: 1 # first\nb: 2\n");
  }

  TEST_CASE("argument lists: changes by destination") {
    const auto changed = [](const yaml::KeyChange& change) {
      const std::string text =
          "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1 # x\n"
          "MODEL_ARGS:\n  --ckpt-format: torch_dist\n  --bf16: true\n"
          "  --no-gradient-accumulation-fusion: true\n";
      const Source source("f.yaml", text);
      const yaml::Document document = yaml::read(source);
      const Span run = document.root()->entry("MODEL_ARGS")->key->span;
      const Schema* schema = Schema::get("megatron-lm");
      REQUIRE(schema);
      const yaml::EditPlan plan = yaml::edit_flags(document, run, {&change, 1}, *schema);
      const std::string after =
          plan ? apply_edits(text, plan.edits).text : "refused: " + plan.refusal;
      const std::string diff = unified_diff("f", text, after);
      std::string lines;
      for (std::size_t at = 0; plan && at < diff.size(); at = diff.find('\n', at) + 1) {
        const std::string line = diff.substr(at, diff.find('\n', at) - at);
        const bool header = line.starts_with("---") && line.ends_with(" f");
        if ((line[0] == '+' && !line.starts_with("+++")) || (line[0] == '-' && !header)) {
          lines += line + "|";
        }
      }
      return plan ? lines : after;
    };
    CHECK(changed({"ckpt_format", "fsdp_dtensor"}) ==
          "-  --ckpt-format: torch_dist|+  --ckpt-format: fsdp_dtensor|");
    CHECK(changed({"bf16", false}) == "-  --bf16: true|");
    CHECK(changed({"use_distributed_optimizer", true}) == "+  --use-distributed-optimizer: true|");
    CHECK(changed({"gradient_accumulation_fusion", true}) ==
          "-  --no-gradient-accumulation-fusion: true|");
    CHECK(changed({"tensor_model_parallel_size", 2}) == "+  --tensor-model-parallel-size: 2|");
    CHECK(changed({"env.CUDA_DEVICE_MAX_CONNECTIONS", "8"}) ==
          "-  CUDA_DEVICE_MAX_CONNECTIONS: 1 # x|+  CUDA_DEVICE_MAX_CONNECTIONS: 8 # x|");
    CHECK(changed({"no_such_destination", 1}) == "refused: no flag sets no_such_destination so");
  }
}
