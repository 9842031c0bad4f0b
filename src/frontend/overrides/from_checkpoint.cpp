#include "frontend/overrides/from_checkpoint.h"

#include <algorithm>
#include <string_view>

namespace shardlint {
namespace {

// Upstream's load_args_from_checkpoint (megatron/training/checkpointing.py): the checkpoint's value
// holds where the argument is None, or always.
struct Taken {
  std::string_view key;
  bool always;
};
constexpr Taken taken[] = {
    {"num_layers", false},
    {"hidden_size", false},
    {"ffn_hidden_size", false},
    {"seq_length", false},
    {"num_attention_heads", false},
    {"kv_channels", false},
    {"max_position_embeddings", false},
    {"hybrid_layer_pattern", false},
    {"moe_token_dispatcher_type", false},
    {"padded_vocab_size", false},
    {"ckpt_format", false},
    {"num_query_groups", true},
    {"group_query_attention", true},
    {"position_embedding_type", true},
    {"add_position_embedding", true},
    {"use_rotary_position_embeddings", true},
    {"rotary_base", true},
    {"rotary_percent", true},
    {"rotary_interleaved", true},
    {"add_bias_linear", true},
    {"add_qkv_bias", true},
    {"squared_relu", true},
    {"swiglu", true},
    {"untie_embeddings_and_output_weights", true},
    {"normalization", true},
    {"apply_query_key_layer_scaling", true},
    {"attention_dropout", true},
    {"hidden_dropout", true},
    {"mtp_num_layers", true},
    {"mtp_use_repeated_layer", true},
    {"spec", true},
    {"num_experts", true},
    {"moe_layer_freq", true},
    {"moe_ffn_hidden_size", true},
    {"moe_router_topk", true},
    {"moe_router_pre_softmax", true},
    {"moe_grouped_gemm", true},
    {"moe_shared_expert_intermediate_size", true},
    {"moe_router_score_function", true},
    {"moe_router_enable_expert_bias", true},
    {"moe_router_topk_scaling_factor", true},
    {"moe_latent_size", true},
    {"mamba_state_dim", true},
    {"mamba_head_dim", true},
    {"mamba_num_groups", true},
    {"mamba_num_heads", true},
    {"heterogeneous_layers_config_path", true},
    {"heterogeneous_layers_config_encoded_json", true},
    {"tokenizer_model", true},
    {"tokenizer_type", true},
    {"tiktoken_pattern", true},
};
constexpr Taken taken_with_parallelism[] = {
    {"tensor_model_parallel_size", true},
    {"pipeline_model_parallel_size", true},
    {"virtual_pipeline_model_parallel_size", true},
    {"num_layers_per_virtual_pipeline_stage", false},
    {"expert_model_parallel_size", true},
};

const Fact* last(const Facts& facts, std::string_view key) {
  const auto at = std::find_if(facts.facts.rbegin(), facts.facts.rend(),
                               [&](const Fact& fact) { return fact.key == key; });
  return at == facts.facts.rend() ? nullptr : &*at;
}

}  // namespace

void values_from_checkpoint(Facts& facts, const Schema& schema) {
  const auto on = [&](std::string_view key) {
    const Fact* fact = last(facts, key);
    return fact && !(fact->value == Value(false)) ? fact : nullptr;
  };
  const Fact* use = on("use_checkpoint_args");
  if (!use)
    return;
  const Span where = use->key_span;
  const bool parallelism = on("use_mp_args_from_checkpoint_args");
  const auto replace = [&](const Taken& row) {
    const Key* key = schema.find(row.key);
    if (!key)
      return;
    const Fact* given = last(facts, row.key);
    const bool none = given ? given->value.is_null() : key->cli_default.is_null();
    if (!row.always && !none)
      return;
    Fact fact;
    fact.key = row.key;
    fact.value = unknown(Reason::machine, "the checkpoint's value", where);
    fact.key_span = given ? given->key_span : where;
    fact.value_span = given ? given->value_span : where;
    fact.origin = Origin::computed;
    fact.note = "taken from the checkpoint (--use-checkpoint-args)";
    facts.facts.push_back(std::move(fact));
  };
  for (const Taken& row : taken)
    replace(row);
  if (parallelism) {
    for (const Taken& row : taken_with_parallelism)
      replace(row);
  }
}

}  // namespace shardlint
