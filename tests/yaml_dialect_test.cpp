// YAML as the frameworks read it: dialects, interpolations, argument lists, duplicate keys.

#include <string>

#include <doctest/doctest.h>

#include "base/strings.h"
#include "frontend/yaml/dialect.h"

using namespace shardlint;

namespace {

struct Read {
  Source source;
  yaml::Document document;
  yaml::Reading reading;
  explicit Read(std::string text, std::string name = "f.yaml", std::string_view framework = {})
      : source(name, std::move(text)),
        document(yaml::read(source)),
        reading(yaml::read_dialect(document, name, framework)) {}

  const Fact* fact(std::string_view key) const {
    const Fact* last = nullptr;
    for (const Facts& facts : reading.configurations) {
      for (const Fact& fact : facts.facts) {
        last = fact.key == key ? &fact : last;
      }
    }
    return last;
  }
  std::string value(std::string_view key) const {
    const Fact* found = fact(key);
    if (!found) {
      return "absent";
    }
    const Unknown* why = found->value.if_unknown();
    return why ? std::string(reason_name(why->reason)) + ": " + why->detail : found->value.text();
  }
};

std::string words(const yaml::ArgumentList& list) {
  std::string out;
  for (const Word& word : list.words) {
    out += (out.empty() ? "" : " ") + word.shown();
  }
  return out;
}

}  // namespace

TEST_SUITE("yaml-dialect") {
  TEST_CASE("which file is whose") {
    struct Row {
      std::string text, framework;
      bool closed;
    };
    const Row rows[] = {
        {"dist:\n  use_megatron_fsdp: true\ncheckpoint:\n  save: /x\n", "megatron-bridge", false},
        {"_target_: megatron.bridge.training.config.ConfigContainer\nmodel: {}\n",
         "megatron-bridge", true},
        {"MODEL_ARGS:\n  --bf16: true\n", "megatron-lm", true},
        {"model_parallel: {a: 1}\nlanguage_model: {b: 2}\n", "megatron-lm", false},
        {"defaults:\n  - ppo_trainer\n  - _self_\n", "verl", false},
        {"actor_rollout_ref:\n  actor: {strategy: fsdp}\n", "verl", false},
        {"engine: {_target_: verl.workers.config.FSDPEngineConfig}\ndata: {}\ntrainer: {}\n"
         "model: {}\noptim: {}\n",
         "verl", true},
        // Written beside exported weights: nothing that trains.
        {"_target_: megatron.bridge.training.config.ConfigContainer\nmodel: {}\ntrain: null\n", "",
         false},
        // Anybody's configuration.
        {"model:\n  name: resnet\noptimizer:\n  lr: 0.1\ntrain:\n  epochs: 3\n", "", false},
        {"MODEL_ARGS:\n  trainer.max_steps: 3\n", "", false},
        {"_target_: verl.workers.config.McoreEngineConfig\nparam_offload: false\n", "", false},
        {"- a\n- b\n", "", false},
        {"on: push\njobs: {}\n", "", false},
        {"", "", false},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      const Read read(row.text);
      CHECK(read.reading.framework == row.framework);
      const bool closed =
          (!read.reading.configurations.empty() && read.reading.configurations[0].closed) ||
          (!read.reading.arguments.empty() && read.reading.arguments[0].facts.closed);
      CHECK(closed == row.closed);
    }
    const Read forced("model:\n  name: x\n", "f.yaml", "megatron-bridge");
    CHECK(forced.value("model.name") == "x");
  }

  TEST_CASE("overrides: dotted keys with their places, lists, nulls, references") {
    const Read read(
        "model:\n"
        "  tensor_model_parallel_size: 2\n"
        "  list: [1, '${..tensor_model_parallel_size}', x]\n"
        "  empty: {}\n"
        "  nothing:\n"
        "checkpoint:\n"
        "  save: ${oc.env:OUT,/tmp}/run\n"
        "  load: ${.save}\n"
        "  both: tp${model.tensor_model_parallel_size}-${logger.name}\n"
        "  tp: ${model.tensor_model_parallel_size}\n"
        "  text: tp${model.tensor_model_parallel_size}\n"
        "  plain: \\${x}\n"
        "  loop: ${checkpoint.loop}\n"
        "  any: ${my.own:1}\n"
        "  item: ${model.list[0]}\n");
    CHECK(read.value("model.tensor_model_parallel_size") == "2");
    CHECK(read.fact("model.tensor_model_parallel_size")->value.if_integer());
    CHECK(read.value("model.list") == "[1, 2, x]");
    CHECK(read.value("model.empty") == "{}");
    CHECK(read.value("model.nothing") == "null");
    CHECK(read.value("checkpoint.save") == "env: environment variable OUT (default /tmp)");
    CHECK(read.fact("checkpoint.save")->value.if_unknown()->not_null);
    CHECK(read.value("checkpoint.load") == read.value("checkpoint.save"));
    CHECK(read.value("checkpoint.both") == "interpolation: ${logger.name}: not set in this file");
    CHECK(read.fact("checkpoint.tp")->value.if_integer());
    CHECK(read.fact("checkpoint.tp")->note == "from line 2");
    CHECK(read.value("checkpoint.text") == "tp2");
    CHECK(read.value("checkpoint.plain") == "${x}");
    CHECK(read.fact("checkpoint.loop")->value.if_unknown()->reason == Reason::limit);
    CHECK(read.value("checkpoint.any") == "interpolation: ${my.own:1}");
    CHECK(read.value("checkpoint.item") == "1");
    const Facts& facts = read.reading.configurations[0];
    CHECK(facts.sections.at("checkpoint").text() == "checkpoint");
    CHECK(facts.anchor.text() == "model");
    CHECK(read.fact("model.nothing")->value_span.begin ==
          read.fact("model.nothing")->value_span.end);
  }

  TEST_CASE("references in a composed tree: oc.select has its default") {
    const std::string tree =
        "actor_rollout_ref:\n"
        "  actor: {_target_: a, n: 4}\n"
        "  rollout:\n    name: ???\n"
        "  ref:\n"
        "    n: ${oc.select:actor_rollout_ref.actor.n,1}\n"
        "    m: ${oc.select:actor_rollout_ref.actor.m,7}\n"
        "    s: ${oc.select:actor_rollout_ref.actor.m,\"a b\"}\n"
        "    z: ${oc.select:actor_rollout_ref.actor.m,${.n}}\n"
        "    none: ${oc.select:actor_rollout_ref.actor.m,null}\n"
        "    bad: ${nowhere}\n"
        "  model: {}\n"
        "data: {}\ntrainer: {}\nalgorithm: {}\n";
    const Read closed(tree);
    CHECK(closed.value("actor_rollout_ref.ref.n") == "4");
    CHECK(closed.value("actor_rollout_ref.ref.m") == "7");
    CHECK(closed.value("actor_rollout_ref.ref.s") == "a b");
    CHECK(closed.value("actor_rollout_ref.ref.z") == "4");
    CHECK(closed.value("actor_rollout_ref.ref.none") == "null");
    CHECK(closed.value("actor_rollout_ref.ref.bad") == "interpolation: ${nowhere}: no such key");
    CHECK(closed.fact("actor_rollout_ref.rollout.name")->value.is_unknown());
    const Read open("defaults: [ppo_trainer]\n" + tree);
    CHECK(open.value("actor_rollout_ref.ref.m").starts_with("interpolation: ${oc.select:"));
    CHECK(open.value("defaults") == "absent");
    CHECK(open.reading.configurations[0].base == "ppo_trainer");
    const Read own("defaults:\n  - ppo_trainer\n  - override model_engine: megatron\n");
    CHECK(own.value("model_engine") == "megatron");
  }

  TEST_CASE("containers: classes, dtypes, enum members, functions, objects") {
    const Read read(
        "_target_: megatron.bridge.training.config.ConfigContainer\n"
        "env_vars: {CUDA_DEVICE_MAX_CONNECTIONS: 1, X: true}\n"
        "checkpoint:\n"
        "  _target_: megatron.bridge.training.config.CheckpointConfig\n"
        "  ckpt_format: torch_dist\n"
        "model:\n"
        "  _target_: megatron.bridge.models.gpt.GPTModelConfig\n"
        "  seq_length: 4096\n"
        "  transformer:\n"
        "    _target_: megatron.core.transformer.TransformerConfig\n"
        "    seq_length: 1\n"
        "    hidden_size: 64\n"
        "    params_dtype: {_target_: torch.bfloat16, _call_: false}\n"
        "    activation_func: {_target_: torch.nn.functional.silu, _call_: false}\n"
        "    attention_backend: {_args_: [5], _call_: true, _name_: auto, _target_: "
        "m.AttnBackend}\n"
        "    generation: {_target_: x.from_dict, _call_: true, config_dict: {}}\n"
        "optimizer:\n"
        "  lr: 1e-4\n");
    CHECK(read.value("checkpoint._type") == "CheckpointConfig");
    CHECK(read.value("checkpoint._target_") == "absent");
    CHECK(read.value("_type") == "ConfigContainer");
    CHECK(read.value("model.seq_length") == "4096");
    CHECK(read.value("model.hidden_size") == "64");
    CHECK(read.value("model.transformer._type") == "TransformerConfig");
    CHECK(read.value("model.params_dtype") == "bfloat16");
    CHECK(read.value("model.transformer.activation_func") == "torch.nn.functional.silu");
    CHECK(read.value("model.attention_backend") == "auto");
    CHECK(read.fact("model.transformer.generation")->value.if_unknown()->not_null);
    CHECK(read.fact("optimizer.lr")->value.if_string());  // PyYAML's reading
    CHECK(read.fact("env.CUDA_DEVICE_MAX_CONNECTIONS")->value.if_string());
    CHECK(read.value("env.X") == "True");
  }

  TEST_CASE("functional tests: the words that reach the program") {
    const Read read(
        "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\n  HOME_OF: ${DATA}/hf\n"
        "MODE: rl\n"
        "MODEL_ENV_VARS:\n  MODEL_ARGS_2:\n    GPUS_PER_NODE: 2\n"
        "BASE: &base\n  --bf16: true\n  --clip-grad: 1.0\n"
        "MODEL_ARGS:\n"
        "  <<: *base\n"
        "  --no-thing: false\n"
        "  --save: ${OUT}/x\n"
        "  --modules: \"[a b]\"\n"
        "  --freq: ([0]*1+[1]*2)\n"
        "  --layout: Et|(tt|)*2L\n"
        "  --two: 2 2\n"
        "  --quoted: '\"the\"'\n"
        "  --fmt: \"fsdp\"\n"
        "  --empty:\n"
        "MODEL_ARGS_2:\n  --bf16: true\n");
    REQUIRE(read.reading.arguments.size() == 2);
    const yaml::ArgumentList& first = read.reading.arguments[0];
    CHECK(words(first) ==
          "--bf16 --clip-grad 1.0 --no-thing false --save ${OUT}/x --modules a b --freq "
          "([0]*1+[1]*2) --layout Et|(tt|)*2L --two 2 2 --quoted the --fmt fsdp --empty no value");
    CHECK(first.mode == "rl");
    CHECK(first.facts.instance == "MODEL_ARGS");
    CHECK(first.facts.anchor.text() == "MODEL_ARGS");
    REQUIRE(first.facts.facts.size() == 2);
    CHECK(first.facts.facts[0].key == "env.CUDA_DEVICE_MAX_CONNECTIONS");
    CHECK(*first.facts.facts[0].value.if_string() == "1");
    CHECK(first.facts.facts[1].value.is_unknown());
    for (const Word& word : first.words) {
      if (word.known() && word.shown() != "the") {
        CHECK(word.span().text() == word.text());
      }
    }
    const yaml::ArgumentList& second = read.reading.arguments[1];
    CHECK(second.facts.facts.back().key == "nproc_per_node");
    CHECK(second.facts.facts.back().value == Value(2));
  }

  TEST_CASE("duplicate keys: who wins depends on who reads") {
    struct Row {
      std::string text, expected;
      Severity severity;
    };
    const Row rows[] = {
        {"train: {train_iters: 1}\ntrain: {train_iters: 2}\n", "OmegaConf refuses",
         Severity::error},
        {"_target_: megatron.bridge.x.ConfigContainer\na: 1\na: 2\n", "this one wins",
         Severity::warning},
        {"_target_: megatron.bridge.x.ConfigContainer\na: 1\na: 1\n", "this one wins",
         Severity::info},
        {"MODEL_ARGS:\n  --a: 1\n  --a: 2\n", "both reach the command line", Severity::warning},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      const Read read(row.text);
      REQUIRE(read.reading.diagnostics.size() == 1);
      const Diagnostic& finding = read.reading.diagnostics[0];
      CHECK(finding.code == "YML120");
      CHECK(finding.severity == row.severity);
      CHECK(finding.message.find(row.expected) != std::string::npos);
      CHECK(finding.related.size() == 1);
      REQUIRE(finding.fixes.size() == 1);
      CHECK((finding.fixes[0].safety == Safety::safe) == (row.severity != Severity::error));
      CHECK(finding.fixes[0].edits.size() == 1);
    }
    const Read several("train: {train_iters: 1}\n---\na: 1\n");
    REQUIRE(several.reading.diagnostics.size() == 1);
    CHECK(several.reading.diagnostics[0].code == "YML121");
  }

  TEST_CASE("tabs: PyYAML refuses them anywhere, the functional tests' reader in indentation") {
    const auto tabs = [](const std::string& text) {
      const Read read(text);
      std::string out;
      for (const Diagnostic& finding : read.reading.diagnostics) {
        out += finding.code + "@" + std::to_string(finding.where.begin.offset) + " ";
      }
      return out;
    };
    CHECK(tabs("train: {train_iters: 1}\t\n") == "YML106@23 ");
    CHECK(tabs("train: {train_iters: 'a\tb'} # \t\n") == "");
    CHECK(tabs("train:\n  train_iters: 1\tx\n") == "YML106@23 ");
    CHECK(tabs("MODEL_ARGS:\n  --a: 1\t# x\n") == "");
    CHECK(tabs("MODEL_ARGS:\n\t# x\n  --a: 1\n") == "YML106@12 ");
  }
}
