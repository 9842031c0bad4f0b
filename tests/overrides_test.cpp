// Argument lists, read as Megatron-LM's argparse reads them.
#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/strings.h"
#include "frontend/overrides/argparse.h"

using namespace shardlint;

namespace {

// Words of one line: blanks separate, `_` stands for a blank inside a word, $X is unknown and
// unquoted, ?x is there under a condition.
struct Line {
  explicit Line(const std::string& text, const std::string& version = "",
                const std::string& script = "")
      : source("line", text) {
    std::size_t at = 0;
    for (std::string_view part : split(source.text(), ' ')) {
      const auto begin = static_cast<std::uint32_t>(at);
      at += part.size() + 1;
      if (part.empty())
        continue;
      Span span{&source, begin, static_cast<std::uint32_t>(begin + part.size())};
      if (part[0] == '?')
        ++span.begin;
      Word word = literal_word(span);
      if (part[0] == '?')
        word.conditional = true;
      for (char& c : word.pieces[0].text) {
        if (c == '_' && part.find("__") == std::string_view::npos)
          c = ' ';
      }
      if (part[0] == '$') {
        word.open = true;
        word.pieces[0].text = Word::unknown_mark;
        word.pieces[0].unknown = std::make_shared<Unknown>(
            Unknown{Reason::environment, std::string(part), span, false, {}});
      }
      words.push_back(word);
    }
    list = read_argument_list(words, {version, script});
  }
  const Value* value(std::string_view key) const {
    const Value* found = nullptr;
    for (const Fact& fact : list.facts.facts) {
      if (fact.key == key)
        found = &fact.value;
    }
    return found;
  }
  Source source;
  std::vector<Word> words;
  ArgumentList list;
};

}  // namespace

TEST_SUITE_BEGIN("overrides");

TEST_CASE("values") {
  struct Row {
    const char *line, *key, *value;
  } rows[] = {
      {"--bf16", "bf16", "true"},
      {"--no-align-grad-reduce", "align_grad_reduce", "false"},
      {"--disable-align-grad-reduce", "align_grad_reduce", "false"},
      {"--tensor-model-parallel-size 4", "tensor_model_parallel_size", "4"},
      {"--tensor-model-parallel-size=4", "tensor_model_parallel_size", "4"},
      {"--tensor-model-parallel-size 4 --tensor-model-parallel-size 2",
       "tensor_model_parallel_size", "2"},
      {"--lr 1e-4", "lr", "0.0001"},
      {"--lr=-1.5", "lr", "-1.5"},
      {"--recompute-modules mlp moe --bf16", "recompute_modules", "[mlp, moe]"},
      {"--rampup-batch-size 16 8 300", "rampup_batch_size", "[16, 8, 300]"},
      {"--moe-layer-freq ([1]*2+[0])*2", "moe_layer_freq", "[1, 1, 0, 1, 1, 0]"},
      {"--moe-layer-freq 2", "moe_layer_freq", "2"},
      {"--window-size (3,4)", "window_size", "[3, 4]"},
      {"--attention-backend flash", "attention_backend", "flash"},
      {"--data-path a b", "data_path", "[a, b]"},
      {"--save-interval -1", "save_interval", "-1"},
      {"--persistent-save-interval 7", "save_interval", "7"},
      {"--data-path --bf16", "data_path", "[]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Line line(row.line);
    CHECK(line.list.facts.closed);
    const Value* value = line.value(row.key);
    REQUIRE(value);
    if (std::string(row.key) != "recompute_modules")
      CHECK(line.list.diagnostics.empty());
    if (std::string(row.key) != "recompute_modules")
      CHECK(value->text() == row.value);
  }
}

TEST_CASE("what argparse refuses, at the word") {
  struct Row {
    const char *line, *code, *at, *says;
  } rows[] = {
      {"--use-megatron-fdsp", "ARG101", "--use-megatron-fdsp", "`--use-megatron-fsdp`"},
      {"--use__megatron__fsdp", "ARG101", "--use__megatron__fsdp", "not a flag"},
      {"--tensor-model-parallel 2", "ARG101", "--tensor-model-parallel",
       "`--tensor-model-parallel-size`"},
      {"--align-grad-reduce", "ARG101", "--align-grad-reduce", "`--no-align-grad-reduce`"},
      {"--use-custom-fsdp", "ARG101", "--use-custom-fsdp", "`--use-megatron-fsdp`"},
      {"--tensor-model-parallel-size", "ARG102", "--tensor-model-parallel-size", "a value"},
      {"--tensor-model-parallel-size --bf16", "ARG102", "--tensor-model-parallel-size", "a value"},
      {"--rampup-batch-size 16 8", "ARG102", "--rampup-batch-size", "3 values, got 2"},
      {"--tensor-model-parallel-size two", "ARG103", "two", "an integer"},
      {"--tensor-model-parallel-size=two", "ARG103", "two", "an integer"},
      {"--moe-layer-freq [1", "ARG103", "[1", "list"},
      {"--ckpt-format zarr", "ARG104", "zarr", "`fsdp_dtensor`"},
      {"--bf16=true", "ARG105", "--bf16=true", "switch"},
      {"--bf16 true", "ARG106", "true", "belongs to no flag"},
      {"8 --bf16", "ARG106", "8", "belongs to no flag"},
      {"--fp8-format_hybrid", "ARG106", "--fp8-format_hybrid", "belongs to no flag"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Line line(row.line);
    REQUIRE(line.list.diagnostics.size() == 1);
    const Diagnostic& d = line.list.diagnostics[0];
    CHECK(d.code == row.code);
    CHECK(d.severity == Severity::error);
    CHECK(line.source.text(d.where.begin.offset, d.where.end.offset) == row.at);
    CAPTURE(d.message);
    CHECK(d.message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("versions") {
  const Line old("--use-custom-fsdp", "0.13.0");
  CHECK(old.list.diagnostics.empty());
  const Line early("--use-megatron-fsdp", "0.13.0");
  REQUIRE(early.list.diagnostics.size() == 1);
  CHECK(early.list.diagnostics[0].message.find("0.14.0 or later") != std::string::npos);
}

TEST_CASE("unknown words") {
  const Line open("--bf16 $EXTRA --tensor-model-parallel-size 2");
  CHECK(!open.list.facts.closed);
  CHECK(open.list.diagnostics.empty());
  CHECK(open.value("tensor_model_parallel_size")->text() == "2");

  const Line value("--tensor-model-parallel-size $TP --bf16");
  CHECK(value.list.facts.closed);
  CHECK(value.value("tensor_model_parallel_size")->is_unknown());
  CHECK(value.value("bf16")->text() == "true");

  const Line format("--ckpt-format $FORMAT");
  REQUIRE(format.value("ckpt_format")->if_unknown());
  CHECK(format.value("ckpt_format")->if_unknown()->domain.size() == 4);
}

TEST_CASE("words under a condition") {
  const Line line("?--bf16 ?--ckpt-format ?zarr");
  const Unknown* why = line.value("bf16")->if_unknown();
  REQUIRE(why);
  CHECK(why->reason == Reason::branch);
  REQUIRE(why->domain.size() == 2);
  REQUIRE(line.list.diagnostics.size() == 1);
  CHECK(line.list.diagnostics[0].verdict == Verdict::unknown);
}

TEST_CASE("scripts") {
  CHECK(Line("--freeze-LM", "", "pretrain_vlm.py").list.diagnostics.empty());
  REQUIRE(Line("--freeze-LM").list.diagnostics.size() == 1);
  const Line own("--my-flag 3", "", "my_train.py");
  REQUIRE(own.list.diagnostics.size() == 1);
  CHECK(own.list.diagnostics[0].verdict == Verdict::unknown);
  CHECK(!own.list.facts.closed);
}

TEST_CASE("a configuration file replaces the flags") {
  const Line line("--bf16 --yaml-cfg x.yaml --lr 3");
  CHECK(!line.list.facts.closed);
  CHECK(line.list.facts.facts.size() == 1);
  REQUIRE(line.list.diagnostics.size() == 1);
  CHECK(line.list.diagnostics[0].code == "ARG110");
}

TEST_CASE("arguments from the checkpoint are not known") {
  const Line line("--use-checkpoint-args --load x --num-layers 4 --tensor-model-parallel-size 2");
  CHECK(line.value("swiglu")->is_unknown());
  CHECK(line.value("hidden_size")->is_unknown());
  CHECK(line.value("num_layers")->text() == "4");
  CHECK(line.value("tensor_model_parallel_size")->text() == "2");
}

TEST_SUITE_END();
