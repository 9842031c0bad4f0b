#include "lint/resolve.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "lint/compare.h"
#include "lint/effects.h"
#include "schema/schema.h"

using namespace shardlint;

namespace {

Effective one(std::vector<std::string> arguments, Options options = {}) {
  return resolve_arguments(arguments, options).front();
}

std::string value(const Effective& effective, const char* key) {
  const EffectiveKey* found = effective.find(key);
  return found ? found->value().text() : "(none)";
}

}  // namespace

TEST_SUITE_BEGIN("resolve");

TEST_CASE("values come from the flags, the defaults and the framework's steps") {
  const Effective e = one({"--num-layers", "8", "--sequence-parallel", "--bf16"});
  CHECK(value(e, "num_layers") == "8");
  CHECK(e.find("num_layers")->written());
  CHECK(value(e, "micro_batch_size") == "null");
  CHECK(e.find("micro_batch_size")->chain.back().by == "--micro-batch-size");
  CHECK(value(e, "sequence_parallel") == "false");
  CHECK(e.find("sequence_parallel")->changed());
  CHECK(e.find("sequence_parallel")->chain.back().origin == Origin::rewritten);
  CHECK(e.find("sequence_parallel")->chain.back().upstream.find("arguments.py:") !=
        std::string::npos);
  CHECK_FALSE(e.find("num_layers")->changed());
  CHECK_FALSE(e.measured);
}

TEST_CASE("a fragment leaves what is absent unknown") {
  Options options;
  options.unsaved["a.yaml"] = "ddp:\n  use_megatron_fsdp: true\n";
  const Effective e = resolve_file("a.yaml", options).front();
  const EffectiveKey* format = e.find("checkpoint.ckpt_format");
  REQUIRE(format);
  REQUIRE(format->unknown);
  CHECK(format->unknown->detail == "not set here; the default is `torch_dist` of CheckpointConfig");
  options.world = Options::World::closed;
  options.unsaved["a.yaml"] += "checkpoint:\n  save: /x\n";
  CHECK(value(resolve_file("a.yaml", options).front(), "checkpoint.ckpt_format") == "torch_dist");
}

TEST_CASE("what cannot be resolved is an error") {
  Options options;
  options.unsaved["a.yaml"] = "jobs:\n  - run: ls\n";
  CHECK_THROWS_AS(resolve_file("a.yaml", options), Error);
  CHECK_THROWS_AS(resolve_file("gone.yaml", options), Error);
}

TEST_CASE("two configurations are compared by the values in force") {
  const Effective a = one({"--num-layers", "8", "--sequence-parallel"});
  const Effective b = one({"--num-layers", "9"});
  const Comparison c = compare(a, b);
  std::vector<std::string> keys;
  for (const Difference& d : c.differences) {
    keys.push_back(d.key);
    CHECK(d.kind == Difference::Kind::differs);
  }
  // sequence_parallel was written and will not hold; encoder_num_layers follows num_layers.
  CHECK(keys == std::vector<std::string>{"encoder_num_layers", "num_layers"});
  CHECK(compare(a, a).differences.empty());
}

TEST_CASE("renamed keys are compared with their successors") {
  Options old, now;
  old.targets = {"megatron-lm==0.14.0"};
  now.targets = {"megatron-lm==0.17.0"};
  const Effective before = one({"--num-layers", "8", "--apply-layernorm-1p"}, old);
  const Effective after = one({"--num-layers", "8", "--apply-layernorm-1p"}, now);
  for (const Comparison& c : {compare(before, after), compare(after, before)}) {
    for (const Difference& d : c.differences) {
      CHECK(d.key.find("layernorm") == std::string::npos);
    }
  }
}

TEST_CASE("keys and what they change") {
  struct Row {
    const char *key, *what;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"use_megatron_fsdp", "which way of sharding parameters, gradients and optimizer state"},
           {"ddp.use_megatron_fsdp",
            "which way of sharding parameters, gradients and optimizer state"},
           {"checkpoint.ckpt_format", "what is saved and loaded, where and in which form"},
           {"exit_on_missing_checkpoint", "what is saved and loaded, where and in which form"},
           {"model.recompute_granularity", "activations are kept, recomputed or moved to the host"},
           {"cuda_graph_warmup_steps", "CUDA graphs and their pools"},
           {"lr_warmup_iters", "how much is trained on, and how fast"},
           {"env.NCCL_ALGO", "what is sent when, and by which means"},
           {"logger.log_interval", "reports, timers, profiles"}}) {
    CAPTURE(row.key);
    REQUIRE(effect_of(row.key));
    CHECK(effect_of(row.key)->what == row.what);
  }
  CHECK(effect_of("no.such.thing_at_all") == nullptr);
}

TEST_CASE("hardly any key of the catalogues is without an effect") {
  for (const std::string_view framework : Schema::frameworks()) {
    std::size_t keys = 0, bare = 0;
    std::string names;
    for (const Key& key : Schema::get(framework)->keys()) {
      if (key.type.kind != Kind::object) {
        ++keys;
        if (!effect_of(key.name)) {
          ++bare;
          names += " " + std::string(key.name);
        }
      }
    }
    CAPTURE(framework);
    CAPTURE(names);
    CHECK(keys > 500);
    CHECK(bare * 200 < keys);
  }
}

TEST_SUITE_END();
