#include "frontend/overrides/bridge_flags.h"

#include <algorithm>
#include <iterator>

#include "base/files.h"

namespace shardlint {
namespace {

using W = BridgeWrite;
using V = BridgeValue;

constexpr W tp[] = {{"model.tensor_model_parallel_size", ""}};
constexpr W pp[] = {{"model.pipeline_model_parallel_size", ""}};
constexpr W cp[] = {{"model.context_parallel_size", ""}};
constexpr W vp[] = {{"model.virtual_pipeline_model_parallel_size", ""}};
constexpr W ep[] = {{"model.expert_model_parallel_size", ""}};
constexpr W etp[] = {{"model.expert_tensor_parallel_size", ""}};
constexpr W steps[] = {{"train.train_iters", ""}};
constexpr W global_batch[] = {{"train.global_batch_size", ""}};
constexpr W micro_batch[] = {{"train.micro_batch_size", ""}};
constexpr W length[] = {{"dataset.seq_length", ""}, {"model.seq_length", ""}};
constexpr W model_length[] = {{"model.seq_length", ""}};
constexpr W lr[] = {{"optimizer.lr", ""}};
constexpr W min_lr[] = {{"optimizer.min_lr", ""}};
constexpr W warmup[] = {{"scheduler.lr_warmup_iters", ""}};
constexpr W pretrained[] = {{"checkpoint.pretrained_checkpoint", ""}};
constexpr W save[] = {{"checkpoint.save", ""}};
constexpr W load[] = {{"checkpoint.load", ""}};
constexpr W interval[] = {{"checkpoint.save_interval", ""}};
constexpr W recent[] = {{"checkpoint.most_recent_k", ""}};
constexpr W timeout[] = {{"dist.distributed_timeout_minutes", ""}};
constexpr W layers[] = {{"model.num_layers", ""}};
constexpr W hidden[] = {{"model.hidden_size", ""}};
constexpr W experts[] = {{"model.num_moe_experts", ""}};
constexpr W layout[] = {{"model.pipeline_model_parallel_layout", ""}};
// The distributed side of the switch and the checkpoint format are not among them.
constexpr W fsdp[] = {{"ddp.use_megatron_fsdp", "true"},
                      {"ddp.data_parallel_sharding_strategy", "optim_grads_params"},
                      {"ddp.keep_fp8_transpose_cache", "false"},
                      {"ddp.average_in_collective", "false"},
                      {"model.init_model_with_meta_device", "true"},
                      {"model.gradient_accumulation_fusion", "true"},
                      {"checkpoint.load", "null"}};
constexpr W user_buffers[] = {{"ddp.nccl_ub", "true"},
                              {"ddp.average_in_collective", "false"},
                              {"env.NCCL_NVLS_ENABLE", "1"},
                              {"env.NCCL_CTA_POLICY", "1"}};
constexpr W graph[] = {{"model.cuda_graph_impl", ""}};
constexpr W recompute_layers[] = {{"model.recompute_granularity", "full"},
                                  {"model.recompute_method", "block"},
                                  {"model.recompute_num_layers", ""}};
constexpr W recompute_modules[] = {{"model.recompute_modules", ""},
                                   {"model.recompute_granularity", "selective"}};
constexpr W offload[] = {{"model.cpu_offloading", "true"},
                         {"model.cpu_offloading_weights", "false"},
                         {"model.cpu_offloading_num_layers", ""}};
constexpr W overlap[] = {{"comm_overlap.overlap_moe_expert_parallel_comm", "true"},
                         {"comm_overlap.delay_wgrad_compute", "true"},
                         {"model.moe_shared_expert_overlap", "false"}};

constexpr BridgeFlag training[] = {
    {"", "--model", V::flag_text, {}, ""},
    {"", "--recipe", V::flag_text, {}, ""},
    {"", "--mode", V::choice, {}, "pretrain sft lora dora"},
    {"", "--step-func", V::flag_text, {}, ""},
    {"", "--step_func", V::flag_text, {}, ""},
    {"", "--dataset", V::flag_text, {}, ""},
    {"-ms", "--max_steps", V::integer, steps, ""},
    {"-gb", "--global_batch_size", V::integer, global_batch, ""},
    {"-mb", "--micro_batch_size", V::integer, micro_batch, ""},
    {"-sl", "--seq_length", V::integer, length, ""},
    {"-tp", "--tensor_model_parallel_size", V::integer, tp, ""},
    {"-pp", "--pipeline_model_parallel_size", V::integer, pp, ""},
    {"-cp", "--context_parallel_size", V::integer, cp, ""},
    {"-vp", "--virtual_pipeline_model_parallel_size", V::integer, vp, ""},
    {"-ep", "--expert_model_parallel_size", V::integer, ep, ""},
    {"-etp", "--expert_tensor_parallel_size", V::integer, etp, ""},
    {"", "--lr", V::real, lr, ""},
    {"", "--min_lr", V::real, min_lr, ""},
    {"", "--warmup_iters", V::integer, warmup, ""},
    {"", "--pretrained_checkpoint", V::text, pretrained, ""},
    {"", "--save_dir", V::text, save, ""},
    {"", "--load_dir", V::text, load, ""},
    {"", "--save_interval", V::integer, interval, ""},
    {"", "--dry-run", V::on, {}, ""},
    {"", "--dry_run", V::on, {}, ""},
    {"", "--deterministic", V::on, {}, ""},
    {"", "--dump-env", V::on, {}, ""},
    {"", "--dump_env", V::on, {}, ""},
    {"-h", "--help", V::on, {}, ""},
};

// Those that write keys; the launcher's own are passed over. Both performance scripts have them,
constexpr BridgeFlag performance[] = {
    {"-ms", "--max_steps", V::integer, steps, ""},
    {"-gb", "--global_batch_size", V::integer, global_batch, ""},
    {"-mb", "--micro_batch_size", V::integer, micro_batch, ""},
    {"-sl", "--seq_length", V::integer, model_length, ""},
    {"-tp", "--tensor_model_parallel_size", V::integer, tp, ""},
    {"-pp", "--pipeline_model_parallel_size", V::integer, pp, ""},
    {"-cp", "--context_parallel_size", V::integer, cp, ""},
    {"-vp", "--virtual_pipeline_model_parallel_size", V::text, vp, ""},
    {"-ep", "--expert_model_parallel_size", V::integer, ep, ""},
    {"-et", "--expert_tensor_parallel_size", V::integer, etp, ""},
    {"", "--lr", V::real, lr, ""},
    {"", "--min_lr", V::real, min_lr, ""},
    {"", "--pretrained_checkpoint", V::text, pretrained, ""},
    {"", "--save_dir", V::text, save, ""},
    {"", "--load_dir", V::text, load, ""},
    {"", "--save_interval", V::integer, interval, ""},
    {"", "--most_recent_k", V::integer, recent, ""},
    {"", "--distributed_timeout_minutes", V::integer, timeout, ""},
    {"", "--nccl_ub", V::boolean, user_buffers, ""},
};
// and these are read by the flat one and accepted without effect by the other.
constexpr BridgeFlag performance_flat[] = {
    {"", "--hidden_size", V::integer, hidden, ""},
    {"", "--num_layers", V::integer, layers, ""},
    {"", "--num_moe_experts", V::integer, experts, ""},
    {"", "--pipeline_model_parallel_layout", V::text, layout, ""},
    {"", "--use_megatron_fsdp", V::boolean, fsdp, ""},
    {"", "--cuda_graph_impl", V::text, graph, ""},
    {"-rl", "--recompute_num_layers", V::integer, recompute_layers, ""},
    {"", "--recompute_modules", V::list, recompute_modules, ""},
    {"-ol", "--activation_offload_layers", V::integer, offload, ""},
    {"", "--moe_a2a_overlap", V::boolean, overlap, ""},
};

template <typename Rows>
const BridgeFlag* find_in(const Rows& rows, std::string_view flag) {
  const auto at = std::find_if(std::begin(rows), std::end(rows), [&](const BridgeFlag& row) {
    return row.full == flag || (!row.brief.empty() && row.brief == flag);
  });
  return at == std::end(rows) ? nullptr : &*at;
}

}  // namespace

BridgeScript bridge_script(std::string_view path) {
  const std::string name = file_name(path);
  const bool performance = path.find("performance") != std::string_view::npos;
  if (name == "run_recipe.py") {
    return performance ? BridgeScript::performance_recipes : BridgeScript::training;
  }
  if (name == "run_script.py" || name == "setup_experiment.py" || name == "bootstrap.py") {
    return BridgeScript::performance_flat;
  }
  return BridgeScript::other;
}

const BridgeFlag* find_bridge_flag(BridgeScript script, std::string_view flag) {
  switch (script) {
    case BridgeScript::training:
      return find_in(training, flag);
    case BridgeScript::performance_flat:
      if (const BridgeFlag* found = find_in(performance_flat, flag)) {
        return found;
      }
      return find_in(performance, flag);
    case BridgeScript::performance_recipes:
      return find_in(performance, flag);
    case BridgeScript::other:
      return nullptr;
  }
  return nullptr;
}

}  // namespace shardlint
