#include "schema/schema.h"

#include <string>

#include <doctest/doctest.h>

#include "schema/check.h"

using namespace shardlint;

TEST_SUITE_BEGIN("schema");

TEST_CASE("Megatron-LM keys have a default for each way in") {
  const Schema* s = Schema::get("megatron-lm");
  REQUIRE(s);
  CHECK(s->version() == "0.20.0");
  CHECK(s->repository() == "NVIDIA/Megatron-LM");
  const Key* key = s->find("data_parallel_sharding_strategy");
  REQUIRE(key);
  CHECK(key->default_value(Route::cli).text() == "optim_grads_params");
  CHECK(key->default_value(Route::cls).text() == "no_shard");
  CHECK(key->type.kind == Kind::choice);
  CHECK(key->choices.size() == 4);
}

TEST_CASE("flags") {
  const Schema* s = Schema::get("megatron-lm");
  struct Row {
    const char *flag, *dest;
    Action action;
  } rows[] = {
      {"--no-align-grad-reduce", "align_grad_reduce", Action::store_false},
      {"--disable-align-grad-reduce", "align_grad_reduce", Action::store_false},
      {"--use-megatron-fsdp", "use_megatron_fsdp", Action::store_true},
      {"--fp8-format", "fp8", Action::store},
      {"--use-nccl-ub", "nccl_ub", Action::store_true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.flag);
    const Option* option = s->find_flag(row.flag);
    REQUIRE(option);
    CHECK(option->dest == row.dest);
    CHECK(option->action == row.action);
  }
  CHECK(!s->find_flag("--align-grad-reduce"));
  CHECK(s->nearest_flag("--use-megatron-fdsp") == "--use-megatron-fsdp");
  CHECK(s->flag_of("align_grad_reduce", true) == "--no-align-grad-reduce");
}

TEST_CASE("versions") {
  struct Row {
    const char *version, *answers;
  } rows[] = {{"", "0.20.0"},     {"0.15.0", "0.15.0"},   {"0.15.9", "0.15.3"},
              {"0.1", "0.12.0"},  {"d98e8a64", "0.20.0"}, {"0.18.1", "0.18.0"},
              {"0.99", "0.20.0"}, {"0.17.0rc1", "0.16.1"}};
  for (const Row& row : rows) {
    CAPTURE(row.version);
    CHECK(Schema::get("megatron-lm", row.version)->version() == row.answers);
  }
  CHECK(Schema::measured("megatron-lm", "0.15.0"));
  CHECK(!Schema::measured("megatron-lm", "0.15.9"));
  CHECK(!Schema::get("nemo"));
  const Schema* old = Schema::get("megatron-lm", "0.12.0");
  CHECK(!old->find_flag("--use-megatron-fsdp"));
  REQUIRE(old->history("--use-megatron-fsdp"));
  CHECK(old->history("--use-megatron-fsdp")->since == "0.14.0");
  const Schema* now = Schema::get("megatron-lm");
  const auto life = now->history("--use-custom-fsdp");
  REQUIRE(life);
  CHECK(life->until == "0.14.0");
  CHECK(life->replacement == "--use-megatron-fsdp");
  CHECK(!now->history("--no-such-flag"));
}

TEST_CASE("canonical names") {
  const Schema* s = Schema::get("megatron-lm");
  REQUIRE(s->spellings("checkpoint.format").size() == 1);
  CHECK(s->spellings("checkpoint.format")[0] == "ckpt_format");
  CHECK(s->canonical("ckpt_format") == "checkpoint.format");
}

// Every spelling of every canonical name is a key of the newest version.
TEST_CASE("canonical spellings exist") {
  for (std::string_view framework : Schema::frameworks()) {
    const Schema* s = Schema::get(framework);
    for (std::string_view name : Schema::canonical_names()) {
      for (std::string_view spelling : s->spellings(name)) {
        CAPTURE(std::string(spelling));
        if (framework != "verl")
          CHECK(s->find(spelling));
      }
    }
  }
}

TEST_CASE("classes of Megatron-Bridge") {
  const Schema* s = Schema::get("megatron-bridge");
  REQUIRE(s);
  CHECK(s->version() == "0.7.0");
  CHECK(s->find("checkpoint.ckpt_format")->default_value(Route::cls).text() == "torch_dist");
  CHECK(s->find("ddp.data_parallel_sharding_strategy")->default_value(Route::cls).text() ==
        "no_shard");
  CHECK(s->find("model.tensor_model_parallel_size"));
  CHECK(s->find("model.transformer.num_layers"));
  CHECK(s->find("peft.dim"));  // of a subclass
  CHECK(!s->find("checkpoint.ckpt_fromat"));
  CHECK(s->nearest_key("checkpoint.ckpt_fromat") == "checkpoint.ckpt_format");
  const ClassInfo* ddp = s->find_class("DistributedDataParallelConfig");
  REQUIRE(ddp);
  CHECK(s->is_a("GPTModelProvider", "TransformerConfig"));
  CHECK(!s->is_a("TransformerConfig", "GPTModelProvider"));
  CHECK(s->find_class("megatron.core.distributed.DistributedDataParallelConfig")->target !=
        s->find_class("megatron.bridge.training.config.DistributedDataParallelConfig")->target);
  CHECK(s->section_classes("checkpoint").size() == 1);
  CHECK(Schema::get("megatron-bridge", "0.5.1")->version() == "0.5.1");
}

TEST_CASE("findings from the catalogue alone") {
  struct Row {
    const char* key;
    Value value;
    const char *code, *says;
  } rows[] = {
      {"checkpoint.ckpt_format", "fsdp_dtensor", "", ""},
      {"checkpoint.ckpt_fromat", "fsdp_dtensor", "KEY101", "`checkpoint.ckpt_format`"},
      {"checkpoint.ckpt_format", "fsdp_tensor", "KEY103", "`fsdp_dtensor`"},
      {"checkpoint.async_save", "false", "KEY102", "true or false"},
      {"train.micro_batch_size", "two", "KEY102", "an integer"},
      {"train.micro_batch_size", 2, "", ""},
      {"train.micro_batch_size", 0.5, "KEY102", "an integer"},
      {"optimizer.lr", 1, "", ""},
      {"mixed_precision", "bf16_mixed", "", ""},
      {"mixed_precision.bf16", true, "", ""},
      {"env_vars.NCCL_DEBUG", "INFO", "", ""},
      {"peft.dim", 8, "", ""},
      {"model.num_layers", 4, "", ""},
      {"modle.num_layers", 4, "KEY101", "did you mean `model.num_layers`?"},
      {"dist.lazy_init", true, "KEY101", "`dist.lazy_mpu_init`"},
      {"model.of_my_own_class", 4, "", ""},
      {"world_size", 8, "", ""},
      {"checkpoint.save", Value(), "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.key));
    CAPTURE(row.value.text());
    const Source source("x.yaml", row.key);
    const Span key{&source, 0, static_cast<std::uint32_t>(source.text().size())};
    Config config;
    config.framework = "megatron-bridge";
    config.set(row.key, Step{row.value, Origin::set, key, key, ""});
    const auto found = check_keys(config, *Schema::get("megatron-bridge"));
    if (!*row.code) {
      CHECK(found.empty());
      continue;
    }
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == row.code);
    CAPTURE(found[0].message);
    CHECK(found[0].message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("a key of another class of the section is told from one of another version") {
  const Source source("x.yaml", "x");
  const Span place{&source, 0, 1};
  Config config;
  config.framework = "megatron-bridge";
  config.set("dataset._type", Step{Value("GPTDatasetConfig"), Origin::set, place, place, ""});
  config.set("dataset.skip_getting_attention_mask_from_dataset",
             Step{Value(true), Origin::set, place, place, ""});
  const auto found = check_keys(config, *Schema::get("megatron-bridge"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message.find("not a key of `GPTDatasetConfig`") != std::string::npos);
  CHECK(found[0].message.find("or later") == std::string::npos);
  const UnknownKey old = describe_unknown_key(*Schema::get("megatron-bridge", "0.2.0"),
                                              "validation.eval_global_batch_size");
  CHECK(old.message.find("or later, this is 0.2.0") != std::string::npos);
}

TEST_SUITE_END();
