#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strings.h"
#include "verify/plan.h"

namespace shardlint::verify {

std::string to_json(const Plan& p) {
  nlohmann::ordered_json faults = nlohmann::ordered_json::array();
  for (const Fault& fault : p.faults) {
    nlohmann::ordered_json row = {{"kind", fault.kind}};
    if (fault.kind == "little_memory") {
      row["bytes"] = fault.bytes;
    } else if (fault.kind != "no_peer_access" && fault.kind != "ecc_error") {
      row["rank"] = fault.rank;
      if (fault.kind != "corrupt_checkpoint") {
        row["step"] = fault.step;
      }
      if (fault.kind == "scale_gradient") {
        row["factor"] = fault.factor;
      }
    }
    faults.push_back(std::move(row));
  }
  const nlohmann::ordered_json plan = {
      {"version", 1},
      {"mode", p.mode},
      {"ranks", p.ranks},
      {"devices", p.devices},
      {"store", p.store},
      {"seed", p.seed},
      {"model",
       {{"layers", p.layers},
        {"hidden", p.hidden},
        {"heads", p.heads},
        {"vocab", p.vocab},
        {"sequence", p.sequence},
        {"experts", p.experts},
        {"top_k", p.top_k}}},
      {"train",
       {{"steps", p.steps},
        {"micro_batch", p.micro_batch},
        {"micro_batches", p.micro_batches},
        {"learning_rate", p.learning_rate},
        {"beta1", p.beta1},
        {"beta2", p.beta2},
        {"epsilon", p.epsilon},
        {"weight_decay", p.weight_decay},
        {"clip", p.clip},
        {"fixed_batch", true},
        {"warm_up", p.warm_up}}},
      {"parallel",
       {{"strategy", p.strategy},
        {"outer_size", p.outer_size},
        {"outer_strategy", p.outer_strategy},
        {"expert_parallel", p.expert_parallel},
        {"overlap_grad_reduce", p.overlap_grad_reduce},
        {"overlap_param_gather", p.overlap_param_gather},
        {"double_buffer", p.double_buffer},
        {"reduce_dtype", p.reduce_dtype},
        {"average_in_collective", p.average_in_collective},
        {"max_connections", p.max_connections}}},
      {"collectives", {{"sizes", p.collective_sizes}, {"repeats", p.collective_repeats}}},
      {"checkpoint",
       {{"directory", p.checkpoint_directory},
        {"keep", p.keep_checkpoint},
        {"asynchronous", p.asynchronous}}},
      {"checks", p.checks},
      {"compare", p.compare},
      {"faults", std::move(faults)},
      {"deadlines",
       {{"start", p.start_deadline},
        {"phase", p.phase_deadline},
        {"total", p.total_deadline},
        {"heartbeat", p.heartbeat}}},
  };
  return plan.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

Fault parse_fault(std::string_view text) {
  static constexpr std::string_view kinds[] = {
      "nan_gradient", "scale_gradient", "corrupt_shard",  "corrupt_checkpoint", "kill",
      "stop",         "hang",           "no_peer_access", "ecc_error",          "little_memory"};
  const std::vector<std::string_view> parts = split(text, ':');
  Fault fault;
  fault.kind = parts[0];
  bool ok = std::find(std::begin(kinds), std::end(kinds), parts[0]) != std::end(kinds) &&
            parts.size() <= 4;
  const auto integer = [&](std::size_t i, int fallback) {
    if (i >= parts.size()) {
      return fallback;
    }
    const auto value = to_integer(parts[i]);
    ok = ok && value && *value >= 0 && *value < 1000000;
    return value ? static_cast<int>(*value) : 0;
  };
  fault.rank = integer(1, 0);
  fault.step = integer(2, 1);
  if (parts.size() == 4) {
    const auto value = to_double(parts[3]);
    ok = ok && value && *value >= 0 && *value < 1e18;
    fault.factor = value.value_or(0);
    fault.bytes = ok ? static_cast<std::uint64_t>(*value) : 0;
  }
  if (!ok) {
    throw Error("fault '" + std::string(text) +
                "': expected KIND[:RANK[:STEP[:FACTOR]]], KIND one of " +
                join({std::begin(kinds), std::end(kinds)}, ", "));
  }
  return fault;
}

}  // namespace shardlint::verify
