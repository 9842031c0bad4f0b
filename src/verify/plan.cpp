#include "verify/plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/core.h>

#include "base/error.h"
#include "base/strings.h"
#include "verify/settings.h"

namespace shardlint::verify {
namespace {

constexpr Preset presets[] = {
    {"tiny", 2, 128, 2, 256, 128, 2},
    {"small", 4, 1024, 8, 8192, 512, 4},
    {"539m", 8, 2048, 16, 32768, 1024, 4},
};

// The variables that reach the trainer: those that change what NCCL and CUDA do. Which devices are
// seen is this machine's affair.
bool reaches_the_step(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_") ||
         name == "CUDA_DEVICE_MAX_CONNECTIONS" || name == "CUDA_MODULE_LOADING";
}
bool reaches_a_job(std::string_view name) {
  static constexpr std::string_view prefixes[] = {
      "NCCL_", "TORCH_", "PYTORCH_", "CUDA_", "NVTE_",   "OMP_", "HYDRA_",
      "VLLM_", "UB_",    "GLOO_",    "UCX_",  "CUBLAS_", "HF_",  "TOKENIZERS_"};
  return name != "CUDA_VISIBLE_DEVICES" &&
         std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

constexpr std::string_view strategies[] = {"no_shard", "optim", "optim_grads",
                                           "optim_grads_params"};
bool is_strategy(std::string_view name) {
  return std::find(std::begin(strategies), std::end(strategies), name) != std::end(strategies);
}

int largest_divisor(int of, int at_most) {
  int best = 1;
  for (int d = 1; d <= of && d <= at_most; ++d) {
    best = of % d == 0 ? d : best;
  }
  return best;
}

// Which of the four strategies the configuration's way of holding state amounts to.
void choose_strategy(Settings& s, const Config* config, Planned& out) {
  Plan& plan = out.plan;
  const bool megatron = s.is_true({"use_megatron_fsdp", "use_custom_fsdp"});
  const std::string engine = s.text({"distributed_strategy", "strategy"});
  const bool torch = s.is_true({"use_torch_fsdp2"}) || engine == "fsdp" || engine == "fsdp2";
  const std::initializer_list<std::string_view> sharding = {"data_parallel_sharding_strategy"};
  if (megatron || engine == "megatron_fsdp") {
    const std::string named = s.text(sharding);
    // The command line shards everything by default, and so does verl; the class shards nothing.
    plan.strategy = is_strategy(named)                       ? named
                    : config->framework == "megatron-bridge" ? "no_shard"
                                                             : "optim_grads_params";
    s.tell({"use_megatron_fsdp", "use_custom_fsdp", "distributed_strategy"}, Use::exercised,
           "strategy " + plan.strategy);
    const bool taken = named == plan.strategy;
    s.tell(sharding, taken ? Use::exercised : Use::not_exercised,
           taken ? "" : "not one of the four; " + plan.strategy + " is run instead", !taken);
  } else if (torch) {
    const bool keep = s.is_false({"torch_fsdp2_reshard_after_forward", "reshard_after_forward"});
    plan.strategy = keep ? "optim_grads" : "optim_grads_params";
    s.tell({"use_torch_fsdp2", "distributed_strategy", "strategy",
            "torch_fsdp2_reshard_after_forward", "reshard_after_forward"},
           Use::exercised, "as strategy " + plan.strategy);
  } else {
    const bool optimizer = s.is_true({"use_distributed_optimizer"});
    plan.strategy = optimizer ? "optim" : "no_shard";
    s.tell({"use_distributed_optimizer"}, Use::exercised, "as strategy " + plan.strategy);
    s.tell(sharding, Use::not_exercised, "read by Megatron-FSDP alone, which is not in use");
    s.tell({"use_megatron_fsdp", "use_custom_fsdp", "use_torch_fsdp2"}, Use::exercised,
           "strategy " + plan.strategy);
  }
  s.tell({"use_distributed_optimizer"}, Use::exercised, "part of strategy " + plan.strategy);
}

struct Sizes {
  std::int64_t world = 0;          // 0: not known
  std::int64_t data_parallel = 0;  // 0: not known
};

// Everything but data parallelism: said, and left out.
Sizes leave_out_other_axes(Settings& s) {
  struct Axis {
    std::initializer_list<std::string_view> names;
    bool divides;  // takes ranks away from data parallelism
  };
  static const Axis axes[] = {
      {{"tensor_model_parallel_size", "tp_size", "tensor_parallel_size"}, true},
      {{"pipeline_model_parallel_size", "pp_size", "pipeline_parallel_size"}, true},
      {{"context_parallel_size", "cp_size", "ulysses_sequence_parallel_size"}, true},
      {{"virtual_pipeline_model_parallel_size", "num_layers_per_virtual_pipeline_stage"}, false},
      {{"expert_tensor_parallel_size"}, false},
  };
  std::int64_t others = 1;
  bool known = true;
  for (const Axis& axis : axes) {
    const std::int64_t size = s.integer(axis.names).value_or(1);
    const bool unknown = s.is_unknown(axis.names);
    if (unknown) {
      s.tell(axis.names, Use::not_exercised, "not known", true);
    } else if (size > 1) {
      s.tell(axis.names, Use::not_exercised, "only data parallelism is run", true);
    } else {
      s.tell(axis.names, Use::exercised, "not split here either");
    }
    known = known && !(axis.divides && unknown);
    others *= axis.divides && size > 1 && size < (1 << 20) ? size : 1;
  }
  s.tell({"sequence_parallel"}, Use::not_exercised, "goes with tensor parallelism");
  Sizes sizes;
  sizes.world = s.integer({"world_size"}).value_or(0);
  if (sizes.world <= 0) {
    const std::int64_t nodes = s.integer({"nnodes"}).value_or(0);
    const std::int64_t each = s.integer({"nproc_per_node", "n_gpus_per_node"}).value_or(0);
    sizes.world = nodes > 0 && each > 0 && nodes < 100000 && each < 1000 ? nodes * each : 0;
  }
  sizes.data_parallel =
      known && sizes.world > 0 && sizes.world % others == 0 ? sizes.world / others : 0;
  if (sizes.world > 0) {
    s.tell({"world_size", "nnodes", "nproc_per_node", "n_gpus_per_node"}, Use::scaled,
           "see the number of ranks");
  }
  return sizes;
}

void leave_out_arithmetic(Settings& s, Planned& out) {
  const auto limits = [&](std::initializer_list<std::string_view> names, std::string why) {
    const Value* value = s.known(names);
    const std::string* word = value ? value->if_string() : nullptr;
    const bool off = !value || (value->if_bool() && !*value->if_bool()) || value->number() == 0 ||
                     (word && (*word == "none" || *word == "None" || word->empty()));
    if (!off || s.is_unknown(names)) {
      s.tell(names, Use::not_exercised, std::move(why), true);
    } else {
      s.tell(names, Use::exercised, "off here too");
    }
  };
  limits({"fp8", "fp8_format", "fp8_recipe", "fp8_param", "fp8_param_gather", "fp8_hybrid",
          "enable_fp8"},
         "the trainer has no FP8");
  limits({"fp4", "fp4_format", "fp4_recipe", "fp4_param", "fp4_param_gather"},
         "the trainer has no FP4");
  limits({"fp16"}, "the trainer computes in bf16");
  limits({"optimizer_cpu_offload", "optimizer_offload", "param_offload", "grad_offload",
          "cpu_offloading", "offload_policy"},
         "nothing is offloaded here");
  limits({"use_precision_aware_optimizer"}, "main parameters and moments are fp32 here");
  limits({"nccl_ub", "fsdp_manual_registration"}, "buffers are not registered with NCCL here");
  limits({"lora.rank", "peft"}, "the trainer has no adapters");
  if (s.is_true({"bf16"}) || s.text({"dtype"}) == "bfloat16") {
    s.tell({"bf16", "dtype"}, Use::exercised, "bf16 compute, fp32 main parameters");
  } else if (s.is_false({"bf16"}) || !s.text({"dtype"}).empty()) {
    s.tell({"bf16", "dtype"}, Use::not_exercised, "the trainer computes in bf16", true);
  }
  const std::string optimizer = s.text({"optimizer", "optimizer.optimizer", "optim.optimizer"});
  if (!optimizer.empty()) {
    const bool adam = lower(optimizer) == "adam" || lower(optimizer) == "adamw";
    s.tell({"optimizer", "optimizer.optimizer", "optim.optimizer"},
           adam ? Use::exercised : Use::not_exercised,
           adam ? "AdamW on the shards" : "the trainer has AdamW alone", !adam);
  }
  const std::string main = s.text({"megatron_fsdp_main_params_dtype"});
  if (!main.empty()) {
    const bool fp32 = main == "fp32" || main == "float32" || main == "torch.float32";
    s.tell({"megatron_fsdp_main_params_dtype"}, fp32 ? Use::exercised : Use::not_exercised,
           fp32 ? "" : "main parameters are fp32 here", !fp32);
  }
  (void)out;
}

void choose_reduction(Settings& s, Plan& plan) {
  const std::string comm = s.text({"megatron_fsdp_grad_comm_dtype", "mp_reduce_dtype"});
  const auto is_bf16 = [](std::string_view name) {
    return name == "bf16" || name == "bfloat16" || name == "torch.bfloat16";
  };
  const bool bf16 =
      s.is_true({"grad_reduce_in_bf16"}) || is_bf16(comm) ||
      (s.is_false({"grad_reduce_in_fp32"}) && !s.is_true({"accumulate_allreduce_grads_in_fp32"}));
  plan.reduce_dtype = bf16 ? "bf16" : "fp32";
  s.tell({"grad_reduce_in_bf16", "grad_reduce_in_fp32", "accumulate_allreduce_grads_in_fp32"},
         Use::exercised, "gradients are reduced in " + plan.reduce_dtype);
  if (!comm.empty()) {
    const bool other = comm == "fp16" || comm == "float16";
    s.tell({"megatron_fsdp_grad_comm_dtype", "mp_reduce_dtype"},
           other ? Use::not_exercised : Use::exercised,
           "gradients are reduced in " + plan.reduce_dtype, other);
  }
  plan.average_in_collective = s.is_true({"average_in_collective", "ddp_average_in_collective"});
  s.tell({"average_in_collective", "ddp_average_in_collective"}, Use::exercised, "");
}

void choose_overlap(Settings& s, Plan& plan) {
  plan.overlap_grad_reduce = s.is_true({"overlap_grad_reduce"});
  plan.overlap_param_gather = s.is_true({"overlap_param_gather", "forward_prefetch"});
  plan.double_buffer = s.is_true({"fsdp_double_buffer", "megatron_fsdp_max_pool_double_buffer"});
  s.tell({"overlap_grad_reduce", "overlap_param_gather", "forward_prefetch", "fsdp_double_buffer",
          "megatron_fsdp_max_pool_double_buffer"},
         Use::exercised, "");
  // As upstream does it: see the reduction of the last micro-batch and the gather of the first.
  if (plan.double_buffer && plan.strategy == "no_shard") {
    s.tell({"fsdp_double_buffer"}, Use::not_exercised, "nothing is gathered under no_shard");
  }
}

void choose_outer_group(Settings& s, const Sizes& sizes, Planned& out) {
  Plan& plan = out.plan;
  std::int64_t wanted = s.integer({"num_distributed_optimizer_instances", "dp_replicate_size",
                                   "data_parallel_replicate_size"})
                            .value_or(1);
  const std::int64_t shard = s.integer({"fsdp_size"}).value_or(0);
  if (shard > 0 && sizes.world > shard) {
    wanted = sizes.world / shard;
  }
  const std::initializer_list<std::string_view> names = {
      "num_distributed_optimizer_instances", "dp_replicate_size", "data_parallel_replicate_size",
      "fsdp_size"};
  if (wanted <= 1) {
    s.tell(names, Use::exercised, "one sharding group");
    s.tell({"outer_dp_sharding_strategy"}, Use::not_exercised, "there is no outer group");
    return;
  }
  if (plan.ranks < 4 || plan.ranks % 2 != 0) {
    const std::string why = fmt::format(
        "an outer group needs 4 ranks or more, an even number; there are {}", plan.ranks);
    s.tell(names, Use::not_exercised, why, true);
    s.tell({"outer_dp_sharding_strategy"}, Use::not_exercised, why, true);
    return;
  }
  plan.outer_size = largest_divisor(
      plan.ranks / 2, static_cast<int>(std::min<std::int64_t>(wanted, plan.ranks / 2)));
  plan.outer_size = std::max(plan.outer_size, 2);
  s.tell(names, plan.outer_size == wanted ? Use::exercised : Use::scaled,
         fmt::format("{} replicas of a sharding group of {}", plan.outer_size,
                     plan.ranks / plan.outer_size));
  const std::string outer = s.text({"outer_dp_sharding_strategy"});
  plan.outer_strategy = outer == "optim" ? "optim" : "no_shard";
  s.tell({"outer_dp_sharding_strategy"}, Use::exercised, "");
}

void choose_experts(Settings& s, Plan& plan) {
  const std::initializer_list<std::string_view> count = {"num_experts", "num_moe_experts"};
  const std::initializer_list<std::string_view> parallel = {"expert_model_parallel_size", "ep_size",
                                                            "expert_parallel_size"};
  const std::int64_t experts = s.integer(count).value_or(0);
  const std::int64_t wanted = s.integer(parallel).value_or(1);
  if (experts <= 1 && wanted <= 1) {
    const bool unknown = s.is_unknown(count) || s.is_unknown(parallel);
    s.tell(count, unknown ? Use::not_exercised : Use::exercised,
           unknown ? "not known" : "no experts here either", unknown);
    s.tell(parallel, unknown ? Use::not_exercised : Use::exercised,
           unknown ? "not known" : "not split here either", unknown);
    return;
  }
  plan.expert_parallel =
      largest_divisor(plan.ranks, static_cast<int>(std::clamp<std::int64_t>(wanted, 1, 64)));
  const int least = static_cast<int>(std::clamp<std::int64_t>(experts > 0 ? experts : 4, 2, 4));
  plan.experts = (least + plan.expert_parallel - 1) / plan.expert_parallel * plan.expert_parallel;
  const std::int64_t top = s.integer({"moe_router_topk"}).value_or(1);
  plan.top_k = static_cast<int>(std::clamp<std::int64_t>(top, 1, 2));
  s.tell(count, plan.experts == experts ? Use::exercised : Use::scaled,
         fmt::format("{} experts in the last layer", plan.experts));
  s.tell(parallel, plan.expert_parallel == wanted ? Use::exercised : Use::scaled,
         fmt::format("{}", plan.expert_parallel));
  s.tell({"moe_router_topk"}, plan.top_k == top ? Use::exercised : Use::scaled,
         fmt::format("{}", plan.top_k));
}

void choose_batches(Settings& s, const Sizes& sizes, Planned& out) {
  Plan& plan = out.plan;
  const std::initializer_list<std::string_view> micro = {"micro_batch_size",
                                                         "ppo_micro_batch_size_per_gpu"};
  const std::initializer_list<std::string_view> global = {"global_batch_size",
                                                          "ppo_mini_batch_size"};
  const std::int64_t one = s.integer(micro).value_or(0);
  const std::int64_t all = s.integer(global).value_or(0);
  s.tell(micro, Use::scaled, fmt::format("{} sequences, from the preset", plan.micro_batch));
  if (one <= 0 || all <= 0) {
    return;
  }
  if (sizes.data_parallel <= 0 || one > (std::int64_t{1} << 40) / sizes.data_parallel) {
    s.tell(global, Use::not_exercised,
           "how many micro-batches make a step depends on the world size, which is not known");
    out.notes.push_back("gradient accumulation is not exercised: the world size is not known");
    return;
  }
  const std::int64_t steps = all / (one * sizes.data_parallel);
  plan.micro_batches = steps > 1 ? 2 : 1;
  s.tell(global, steps == plan.micro_batches ? Use::exercised : Use::scaled,
         fmt::format("{} micro-batch{} a step (the configuration has {})", plan.micro_batches,
                     plan.micro_batches == 1 ? "" : "es", steps));
}

void choose_optimizer(Settings& s, Plan& plan) {
  const auto take = [&](std::initializer_list<std::string_view> names, double& to, double low,
                        double high) {
    const auto value = s.number(names);
    if (value && *value >= low && *value <= high) {
      to = *value;
      s.tell(names, Use::exercised, "");
    }
  };
  take({"adam_beta1"}, plan.beta1, 0, 0.9999999);
  take({"adam_beta2"}, plan.beta2, 0, 0.9999999);
  take({"adam_eps"}, plan.epsilon, 1e-30, 1);
  take({"weight_decay"}, plan.weight_decay, 0, 1);
  take({"clip_grad", "grad_clip"}, plan.clip, 0, 1e9);
  s.tell({"lr"}, Use::not_exercised, fmt::format("{} for a model this small", plan.learning_rate));
}

void choose_checkpoint(Settings& s, Planned& out) {
  const std::string format = s.text({"ckpt_format"});
  if (format == "fsdp_dtensor") {
    s.tell({"ckpt_format"}, Use::exercised, "");
  } else if (!format.empty()) {
    s.tell({"ckpt_format"}, Use::not_exercised, "the trainer saves as fsdp_dtensor");
    out.notes.push_back("the checkpoint check runs on fsdp_dtensor, not on " + format);
  }
  s.tell({"save", "load", "default_local_dir"}, Use::not_exercised,
         "the verifier saves where --save says, or in a temporary folder");
  out.plan.asynchronous = s.is_true({"async_save"});
  s.tell({"async_save"}, Use::exercised, "");
}

void choose_environment(Settings& s, const Config& config, Planned& out) {
  const auto connections = s.known({"env.CUDA_DEVICE_MAX_CONNECTIONS"});
  const auto number = connections ? to_integer(connections->text()) : std::nullopt;
  if (number && *number > 0 && *number <= 32) {
    out.plan.max_connections = static_cast<int>(*number);
  }
  for (const std::string& key : config.keys()) {
    if (!key.starts_with("env.")) {
      continue;
    }
    const std::string name = key.substr(4);
    const Value& value = config.find(key)->value();
    if (!reaches_a_job(name) || value.is_unknown()) {
      continue;
    }
    if (value.is_null()) {
      out.unset.push_back(name);
    } else {
      out.environment.emplace_back(name, value.text());
    }
    if (reaches_the_step(name)) {
      s.tell({key}, Use::exercised, "in the trainer's environment");
    }
  }
}

std::string digest_of(const Config& config) {
  std::string text = config.framework + "\n" + config.instance + "\n";
  for (const std::string& key : config.keys()) {
    text += key + "=" + config.find(key)->value().text() + "\n";
  }
  return fmt::format("fnv1a64:{:016x}", stable_hash(text));
}

}  // namespace

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets) {
    if (preset.name == lower(name)) {
      return &preset;
    }
  }
  return nullptr;
}

Planned make_plan(const Config* config, const Wishes& wishes) {
  Planned out;
  Plan& plan = out.plan;
  const Preset* preset = find_preset(wishes.preset);
  if (!preset) {
    throw Error("preset '" + wishes.preset + "': expected tiny, small or 539m");
  }
  plan.layers = preset->layers;
  plan.hidden = preset->hidden;
  plan.heads = preset->heads;
  plan.vocab = preset->vocab;
  plan.sequence = preset->sequence;
  plan.micro_batch = preset->micro_batch;
  plan.ranks = wishes.ranks;
  plan.mode = wishes.processes ? "processes" : "threads";
  plan.seed = wishes.seed;
  plan.compare = wishes.compare;
  plan.checkpoint_directory = wishes.save;
  plan.keep_checkpoint = !wishes.save.empty();
  if (wishes.steps > 0) {
    plan.steps = wishes.steps;
  }
  if (config) {
    Settings settings(config, wishes.scope);
    out.framework = config->framework;
    out.anchor = locate(config->anchor);
    out.digest = digest_of(*config);
    choose_strategy(settings, config, out);
    const Sizes sizes = leave_out_other_axes(settings);
    leave_out_arithmetic(settings, out);
    choose_reduction(settings, plan);
    choose_overlap(settings, plan);
    choose_outer_group(settings, sizes, out);
    choose_experts(settings, plan);
    choose_batches(settings, sizes, out);
    choose_optimizer(settings, plan);
    choose_checkpoint(settings, out);
    choose_environment(settings, *config, out);
    settings.tell({"num_layers", "hidden_size", "num_attention_heads", "seq_length",
                   "max_position_embeddings", "ffn_hidden_size", "vocab_size"},
                  Use::scaled, "size of the preset " + std::string(preset->name));
    settings.tell({"seed"}, Use::not_exercised, fmt::format("seed {}", plan.seed));
    out.settings = settings.finish();
    out.data_parallel_only = std::any_of(out.settings.begin(), out.settings.end(),
                                         [](const Setting& setting) { return setting.limits; });
  }
  if (!wishes.strategy.empty()) {
    if (!is_strategy(wishes.strategy)) {
      throw Error("strategy '" + wishes.strategy + "': expected " +
                  join({std::begin(strategies), std::end(strategies)}, ", "));
    }
    plan.strategy = wishes.strategy;
  }
  return out;
}

}  // namespace shardlint::verify
