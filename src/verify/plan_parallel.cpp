// Data parallelism as the configuration has it, and the axes that are left out.
#include <algorithm>

#include <fmt/core.h>

#include "base/strings.h"
#include "verify/plan_parts.h"

namespace shardlint::verify {
namespace {

constexpr std::string_view strategies[] = {"no_shard", "optim", "optim_grads",
                                           "optim_grads_params"};
int largest_divisor(int of, int at_most) {
  int best = 1;
  for (int d = 1; d <= of && d <= at_most; ++d) {
    best = of % d == 0 ? d : best;
  }
  return best;
}

}  // namespace

bool is_strategy(std::string_view name) {
  return std::find(std::begin(strategies), std::end(strategies), name) != std::end(strategies);
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

void choose_overlap(Settings& s, Plan& plan, bool verl) {
  // verl turns it on with Megatron-FSDP unless override_ddp_config says otherwise.
  const bool by_default =
      verl && s.is_true({"use_megatron_fsdp"}) && !s.known({"overlap_grad_reduce"});
  plan.overlap_grad_reduce = by_default || s.is_true({"overlap_grad_reduce"});
  plan.overlap_param_gather = s.is_true({"overlap_param_gather", "forward_prefetch"});
  plan.double_buffer = s.is_true({"fsdp_double_buffer", "megatron_fsdp_max_pool_double_buffer"});
  s.tell({"overlap_grad_reduce", "overlap_param_gather", "forward_prefetch", "fsdp_double_buffer",
          "megatron_fsdp_max_pool_double_buffer"},
         Use::exercised, "");
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
    out.ranks_wanted = 4;
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

}  // namespace shardlint::verify
