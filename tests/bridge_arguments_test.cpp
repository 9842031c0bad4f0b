// Flags and overrides of Megatron-Bridge's scripts.
#include "frontend/overrides/bridge_arguments.h"

#include <string>

#include <doctest/doctest.h>

#include "base/strings.h"

using namespace shardlint;

namespace {

struct Line {
  Line(const std::string& script, const std::string& text) : source("line", text) {
    std::size_t at = 0;
    for (std::string_view part : split(source.text(), ' ')) {
      const auto begin = static_cast<std::uint32_t>(at);
      at += part.size() + 1;
      if (!part.empty()) {
        words.push_back(
            literal_word(Span{&source, begin, static_cast<std::uint32_t>(begin + part.size())}));
      }
    }
    run = read_bridge_arguments(words, {"", script});
  }
  std::string value(std::string_view key) const {
    std::string out = "<absent>";
    for (const Fact& fact : run.facts.facts) {
      if (fact.key == key) {
        out = fact.value.text();
      }
    }
    return out;
  }
  Source source;
  std::vector<Word> words;
  BridgeRun run;
};

constexpr const char* training = "scripts/training/run_recipe.py";
constexpr const char* flat = "scripts/performance/run_script.py";
constexpr const char* recipes = "scripts/performance/run_recipe.py";

}  // namespace

TEST_SUITE_BEGIN("bridge_arguments");

TEST_CASE("keys that words write") {
  struct Row {
    const char *script, *line, *key, *value;
  } rows[] = {
      {training, "--recipe r -tp 4", "model.tensor_model_parallel_size", "4"},
      {training, "--recipe r -tp 4 model.tensor_model_parallel_size=2",
       "model.tensor_model_parallel_size", "2"},
      {training, "--save_dir /x", "checkpoint.save", "/x"},
      {training, "--seq_length 8", "model.seq_length", "8"},
      {training, "checkpoint.ckpt_format=fsdp_dtensor", "checkpoint.ckpt_format", "fsdp_dtensor"},
      {training, "checkpoint.save=null", "checkpoint.save", "null"},
      {training, "++env_vars={A:'1'}", "env_vars.A", "1"},
      {flat, "-tp 4 model.tensor_model_parallel_size=2", "model.tensor_model_parallel_size", "4"},
      {flat, "--use_megatron_fsdp true", "ddp.data_parallel_sharding_strategy",
       "optim_grads_params"},
      {flat, "--use_megatron_fsdp false", "ddp.use_megatron_fsdp", "<absent>"},
      {recipes, "--use_megatron_fsdp true", "ddp.use_megatron_fsdp", "<absent>"},
      {recipes, "-tp 4 model.tensor_model_parallel_size=2", "model.tensor_model_parallel_size",
       "2"},
      {"train.py", "--config-file x.yaml train.train_iters=3", "train.train_iters", "3"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.line));
    const Line line(row.script, row.line);
    CHECK(line.run.diagnostics.empty());
    CHECK(!line.run.facts.closed);
    CHECK(line.value(row.key) == row.value);
  }
  CHECK(Line(training, "--recipe llama3_8b_pretrain_config").run.facts.base ==
        "llama3_8b_pretrain_config");
  CHECK(Line(training, "--model gpt_oss_20b --mode lora").run.facts.base ==
        "gpt_oss_20b_peft_config");
  CHECK(Line("train.py", "--config-file x.yaml").run.config_file == "x.yaml");
}

TEST_CASE("what the scripts refuse") {
  struct Row {
    const char *script, *line, *code, *at;
  } rows[] = {
      {training, "--recipe r -tp two", "ARG103", "two"},
      {training, "--recipe r --mode train", "ARG103", "train"},
      {training, "--recipe r --no_such 1", "ARG101", "--no_such"},
      {training, "--recipe r word", "ARG106", "word"},
      {training, "checkpoint.ckpt_fromat=x", "HYD101", "checkpoint.ckpt_fromat"},
      {training, "modle.num_layers=4", "HYD101", "modle.num_layers"},
      {training, "checkpoint.save=[a", "HYD104", "["},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.line));
    const Line line(row.script, row.line);
    REQUIRE(!line.run.diagnostics.empty());
    const Diagnostic& d = line.run.diagnostics[0];
    CHECK(d.code == row.code);
    CHECK(line.source.text(d.where.begin.offset, d.where.end.offset) == row.at);
  }
}

TEST_SUITE_END();
