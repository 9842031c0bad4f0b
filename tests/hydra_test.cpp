// Hydra command lines: the grammar, composition of verl's trees, and what Hydra refuses.
#include "frontend/overrides/hydra.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/strings.h"
#include "frontend/overrides/hydra_grammar.h"

using namespace shardlint;

namespace {

// Words separated by blanks; $X is unknown and unquoted, ?x is there under a condition.
struct Line {
  explicit Line(const std::string& text, const std::string& root = "ppo_trainer",
                const std::string& version = "")
      : source("line", text) {
    std::size_t at = 0;
    for (std::string_view part : split(source.text(), ' ')) {
      const auto begin = static_cast<std::uint32_t>(at);
      at += part.size() + 1;
      if (part.empty()) {
        continue;
      }
      Span span{&source, begin, static_cast<std::uint32_t>(begin + part.size())};
      span.begin += part[0] == '?';
      Word word = literal_word(span);
      word.conditional = part[0] == '?';
      if (part[0] == '$') {
        word.open = true;
        word.pieces[0].text = Word::unknown_mark;
        word.pieces[0].unknown = std::make_shared<Unknown>(
            Unknown{Reason::argument, std::string(part), span, false, {}});
      }
      words.push_back(word);
    }
    HydraOptions options;
    options.config_name = root;
    options.version = version;
    run = read_hydra_arguments(words, options);
  }
  std::string value(std::string_view key) const {
    for (const Fact& fact : run.facts.facts) {
      if (fact.key == key) {
        return fact.value.text();
      }
    }
    return "<absent>";
  }
  Source source;
  std::vector<Word> words;
  HydraRun run;
};

}  // namespace

TEST_SUITE_BEGIN("hydra");

TEST_CASE("the value grammar") {
  struct Row {
    const char *text, *value;
  } rows[] = {
      {"1", "1"},
      {"1_000", "1000"},
      {"007", "007"},
      {"1e-6", "1e-06"},
      {"1.5", "1.5"},
      {"null", "null"},
      {"NULL", "null"},
      {"True", "true"},
      {"abc", "abc"},
      {"a b", "a b"},
      {"a:b", "a:b"},
      {"'a,b'", "a,b"},
      {"\"x\"", "x"},
      {"'it\\'s'", "it's"},
      {"[a,1,[true]]", "[a, 1, [true]]"},
      {"[\"console\",\"wandb\"]", "[console, wandb]"},
      {"{a:1,b:[x]}", "{a: 1, b: [x]}"},
      {"a\\,b", "a,b"},
      {"${a.b}", "${a.b}"},
      {"", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.text));
    const OverrideValue read = parse_override_value(literal_word(std::string(row.text)));
    CHECK(read.error.empty());
    CHECK(read.value.text() == row.value);
  }
  for (const char* bad : {"[a", "{a}", "'a", "[a,]", "a=b", "${a", "nosuch(1)", "a]", "\"a\"b"}) {
    CAPTURE(std::string(bad));
    CHECK(!parse_override_value(literal_word(std::string(bad))).error.empty());
  }
  CHECK(parse_override_value(literal_word("a,b")).sweep);
}

TEST_CASE("composition") {
  struct Row {
    const char *line, *root, *key, *value;
  } rows[] = {
      {"", "ppo_trainer", "model_engine", "dp"},
      {"", "ppo_trainer", "actor_rollout_ref.actor.strategy", "fsdp"},
      {"", "ppo_trainer", "actor_rollout_ref.actor.megatron.use_megatron_fsdp", "<absent>"},
      {"model_engine=megatron", "ppo_trainer", "actor_rollout_ref.actor.strategy", "megatron"},
      {"", "ppo_megatron_trainer", "actor_rollout_ref.actor.megatron.use_megatron_fsdp", "false"},
      {"--config-name ppo_megatron_trainer.yaml", "ppo_trainer", "model_engine", "megatron"},
      {"actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4", "ppo_megatron_trainer",
       "actor_rollout_ref.ref.megatron.tensor_model_parallel_size", "4"},
      {"engine=megatron optim=megatron", "sft_trainer_engine", "engine.tensor_model_parallel_size",
       "1"},
      {"", "sft_trainer_engine", "checkpoint.load_contents", "[model, optimizer, extra]"},
      {"data.train_batch_size=8 data.train_batch_size=16", "ppo_trainer", "data.train_batch_size",
       "16"},
      {"+data.new=1", "ppo_trainer", "data.new", "1"},
      {"~trainer.nnodes", "ppo_trainer", "trainer.nnodes", "<absent>"},
      {"trainer.logger='[\"console\"]'", "ppo_trainer", "trainer.logger", "[\"console\"]"},
      {"trainer.logger=[\"console\"]", "ppo_trainer", "trainer.logger", "[console]"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.line));
    CAPTURE(std::string(row.key));
    const Line line(row.line, row.root);
    CHECK(line.run.composed);
    CHECK(line.run.facts.closed);
    CHECK(line.value(row.key) == row.value);
  }
}

TEST_CASE("every root of every version composes") {
  for (std::string_view version : Schema::versions("verl")) {
    const Schema* schema = Schema::get("verl", version);
    for (const TreeFile& file : schema->tree_files()) {
      if (file.path.find('/') != std::string_view::npos || !file.path.ends_with("trainer")) {
        continue;
      }
      CAPTURE(std::string(version));
      CAPTURE(std::string(file.path));
      const Composed composed = compose_tree(
          file.path, {}, [&](std::string_view path) { return schema->tree_file(path); });
      CHECK(composed.missing.empty());
      CHECK(composed.tree.entries.size() > 3);
    }
  }
}

TEST_CASE("what Hydra refuses, at the word") {
  struct Row {
    const char *line, *code, *at, *says;
  } rows[] = {
      {"data.train_batch_sise=8", "HYD101", "data.train_batch_sise", "`data.train_batch_size`"},
      {"actor_rollout_ref.actor.megatron.use_megatron_fsdp=True", "HYD101",
       "actor_rollout_ref.actor.megatron.use_megatron_fsdp", "`model_engine=megatron`"},
      {"+data.train_batch_size=8", "HYD102", "data.train_batch_size", "there already"},
      {"model_engine=megatrn", "HYD103", "megatrn", "`megatron`"},
      {"data.train_batch_size", "HYD104", "data.train_batch_size", "`=`"},
      {"data.x=[1", "HYD104", "[", "not closed"},
      {"optim=megatron", "HYD105", "optim", "does not choose"},
      {"~data.nothing", "HYD106", "data.nothing", "to delete"},
      {"model_engine=dp model_engine=megatron", "HYD107", "model_engine=megatron", "twice"},
      {"++model_engine=megatron", "HYD108", "model_engine", "forced"},
      {"data.train_batch_size=1,2", "HYD109", "1,2", "--multirun"},
      {"+actor_rollout_ref.actor.no_such_field=1", "HYD110",
       "actor_rollout_ref.actor.no_such_field", "no field"},
      {"data.train_batch_size=8 data.train_batch_size=16", "HYD112", "data.train_batch_size=8",
       "last one wins"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.line));
    const Line line(row.line);
    REQUIRE(line.run.diagnostics.size() == 1);
    const Diagnostic& d = line.run.diagnostics[0];
    CHECK(d.code == row.code);
    CHECK(line.source.text(d.where.begin.offset, d.where.end.offset) == row.at);
    CAPTURE(d.message);
    CHECK(d.message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("unknown words leave the list open") {
  const Line line("data.train_batch_size=8 $@");
  CHECK(!line.run.facts.closed);
  CHECK(line.run.diagnostics.empty());
  CHECK(line.value("data.train_batch_size") == "8");
  const Line maybe("?data.train_batch_size=8");
  CHECK(maybe.value("data.train_batch_size").find("branch") != std::string::npos);
}

TEST_CASE("programs and their roots") {
  CHECK(root_of_program("verl.trainer.main_ppo") == "ppo_trainer");
  CHECK(root_of_program("verl.trainer.sft_trainer") == "sft_trainer_engine");
  CHECK(root_of_program("verl.experimental.one_step_off_policy.main_ppo") ==
        "one_step_off_ppo_trainer");
  CHECK(root_of_program("my.main") == "");
}

TEST_CASE("a release without the key") {
  const Line line("actor_rollout_ref.actor.megatron.use_megatron_fsdp=True", "ppo_megatron_trainer",
                  "0.7.0");
  REQUIRE(line.run.diagnostics.size() == 1);
  CHECK(line.run.diagnostics[0].message.find("0.8.0 or later") != std::string::npos);
}

TEST_SUITE_END();
