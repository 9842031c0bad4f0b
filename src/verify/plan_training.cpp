// Arithmetic, batches, optimizer, checkpoint and environment.
#include <algorithm>

#include <fmt/core.h>

#include "base/strings.h"
#include "verify/plan_parts.h"

namespace shardlint::verify {
namespace {

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

}  // namespace

void leave_out_arithmetic(Settings& s) {
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
  if (const Value* betas = s.known({"betas"}); betas && betas->if_list()) {
    const List& both = *betas->if_list();
    const bool ok = both.size() == 2 && both[0].number() >= 0 && both[0].number() < 1 &&
                    both[1].number() >= 0 && both[1].number() < 1;
    if (ok) {
      plan.beta1 = both[0].number();
      plan.beta2 = both[1].number();
      s.tell({"betas"}, Use::exercised, "");
    }
  }
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
  for (const std::string_view key : config.keys()) {
    if (!key.starts_with("env.")) {
      continue;
    }
    const std::string name(key.substr(4));
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

}  // namespace shardlint::verify
