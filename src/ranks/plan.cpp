#include "ranks/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace shardlint::ranks {

namespace {

using nlohmann::json;

constexpr std::string_view strategy_names[] = {"no_shard", "optim", "optim_grads",
                                               "optim_grads_params"};
constexpr std::string_view check_names[] = {"environment", "collectives", "finite", "parity",
                                            "replicas",    "checkpoint",  "memory"};
constexpr std::string_view fault_kinds[] = {
    "nan_gradient", "scale_gradient", "corrupt_shard",  "corrupt_checkpoint", "kill",
    "stop",         "hang",           "no_peer_access", "ecc_error",          "little_memory"};

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error("plan: " + where + ": " + what);
}

// An object of which every key must be asked for: what was not asked for is a typo.
class Keys {
 public:
  Keys(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) {
      refuse(where_.empty() ? "top level" : where_, "expected an object");
    }
  }
  ~Keys() = default;

  template <typename T>
  void take(const char* key, T& into) {
    known_.push_back(key);
    const auto found = object_.find(key);
    if (found == object_.end()) {
      return;
    }
    bool fits = false;
    if constexpr (std::is_same_v<T, bool>) {
      fits = found->is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
      fits = found->is_number_integer() && (std::is_signed_v<T> || *found >= 0) &&
             (sizeof(T) == 8 || (*found >= -2147483647 && *found <= 2147483647));
    } else if constexpr (std::is_floating_point_v<T>) {
      fits = found->is_number();
    } else if constexpr (std::is_same_v<T, std::string>) {
      fits = found->is_string();
    } else {
      fits = found->is_array();
      for (const json& item : *found) {
        fits = fits && (std::is_same_v<typename T::value_type, std::string>
                            ? item.is_string()
                            : item.is_number_integer() && item >= 0);
      }
    }
    if (!fits) {
      refuse(where_ + key, "unexpected value " + found->dump());
    }
    into = found->get<T>();
  }

  void object(const char* key, const std::function<void(Keys&)>& read) {
    known_.push_back(key);
    if (const auto found = object_.find(key); found != object_.end()) {
      Keys inner(*found, where_ + key + ".");
      read(inner);
      inner.finish();
    }
  }

  const json* any(const char* key) {
    known_.push_back(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        refuse(where_ + key, "unknown key");
      }
    }
  }

 private:
  const json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

template <typename Names>
bool one_of(std::string_view word, const Names& names) {
  return std::find(std::begin(names), std::end(names), word) != std::end(names);
}

Strategy strategy_from(const std::string& text) {
  for (Strategy strategy : all_strategies) {
    if (text == name_of(strategy)) {
      return strategy;
    }
  }
  refuse("parallel.strategy", "unknown strategy " + text);
}

std::vector<Fault> read_faults(const json& list) {
  std::vector<Fault> faults;
  if (!list.is_array()) {
    refuse("faults", "expected a list");
  }
  for (const json& item : list) {
    Fault fault;
    Keys keys(item, "faults.");
    keys.take("kind", fault.kind);
    keys.take("rank", fault.rank);
    keys.take("step", fault.step);
    keys.take("factor", fault.factor);
    keys.take("bytes", fault.bytes);
    keys.finish();
    if (!one_of(fault.kind, fault_kinds)) {
      refuse("faults.kind", "unknown fault " + fault.kind);
    }
    faults.push_back(fault);
  }
  return faults;
}

void require(bool ok, const char* key, const char* what) {
  if (!ok) {
    refuse(key, what);
  }
}

void check_sizes(const Plan& plan) {
  const ModelSizes& m = plan.model;
  const auto within = [](long long value, long long low, long long high) {
    return value >= low && value <= high;
  };
  require(within(plan.ranks, 1, 64), "ranks", "expected 1 to 64");
  require(within(m.layers, 1, 256), "model.layers", "expected 1 to 256");
  require(within(m.heads, 1, 512), "model.heads", "expected 1 to 512");
  require(within(m.hidden, 64, 32768) && m.hidden % 64 == 0, "model.hidden",
          "expected a multiple of 64 up to 32768");
  require(m.hidden % m.heads == 0 && (m.head_size() == 64 || m.head_size() == 128), "model.heads",
          "hidden / heads must be 64 or 128");
  require(within(m.vocab, 64, 1 << 20) && m.vocab % 64 == 0, "model.vocab",
          "expected a multiple of 64 up to 1048576");
  require(within(m.sequence, 64, 1 << 16) && m.sequence % 64 == 0, "model.sequence",
          "expected a multiple of 64 up to 65536");
  require(m.experts == 0 || (within(m.experts, 2, 64) && m.experts % 2 == 0), "model.experts",
          "expected 0 or an even number up to 64");
  require(within(m.top_k, 1, 2), "model.top_k", "expected 1 or 2");
  require(within(plan.train.steps, 1, 100000), "train.steps", "expected 1 to 100000");
  require(within(plan.train.micro_batch, 1, 1024), "train.micro_batch", "expected 1 to 1024");
  require(within(plan.train.micro_batches, 1, 1024), "train.micro_batches", "expected 1 to 1024");
  require(plan.train.warm_up >= 0, "train.warm_up", "expected 0 or more");
  require(plan.parallel.outer_size >= 1, "parallel.outer_size", "expected 1 or more");
  require(plan.parallel.expert_parallel >= 1, "parallel.expert_parallel", "expected 1 or more");
  require(plan.collectives.repeats >= 1, "collectives.repeats", "expected 1 or more");
  for (const std::uint64_t bytes : plan.collectives.sizes) {
    require(bytes >= 4096 && bytes <= (std::uint64_t{1} << 34), "collectives.sizes",
            "expected 4096 to 2^34");
  }
  for (const std::string& check : plan.checks) {
    require(one_of(check, check_names), "checks", ("unknown check " + check).c_str());
  }
}

}  // namespace

std::string_view name_of(Strategy strategy) {
  return strategy_names[static_cast<std::size_t>(strategy)];
}

bool Plan::wants(std::string_view check) const {
  return one_of(check, checks);
}

Plan parse_plan(std::string_view json_text) {
  const json root = json::parse(json_text, nullptr, false);
  if (root.is_discarded()) {
    throw Error("plan: not JSON");
  }
  Plan plan;
  int version = 1;
  std::string mode = "threads", strategy, reduce_dtype = "fp32";
  Keys keys(root, "");
  keys.take("version", version);
  require(version == 1, "version", "this trainer speaks version 1");
  keys.take("mode", mode);
  require(mode == "threads" || mode == "processes", "mode", "expected threads or processes");
  plan.processes = mode == "processes";
  keys.take("ranks", plan.ranks);
  keys.take("devices", plan.devices);
  keys.take("store", plan.store);
  keys.take("seed", plan.seed);
  keys.object("model", [&](Keys& k) {
    k.take("layers", plan.model.layers);
    k.take("hidden", plan.model.hidden);
    k.take("heads", plan.model.heads);
    k.take("vocab", plan.model.vocab);
    k.take("sequence", plan.model.sequence);
    k.take("experts", plan.model.experts);
    k.take("top_k", plan.model.top_k);
  });
  keys.object("train", [&](Keys& k) {
    k.take("steps", plan.train.steps);
    k.take("micro_batch", plan.train.micro_batch);
    k.take("micro_batches", plan.train.micro_batches);
    k.take("warm_up", plan.train.warm_up);
    k.take("learning_rate", plan.train.learning_rate);
    k.take("beta1", plan.train.beta1);
    k.take("beta2", plan.train.beta2);
    k.take("epsilon", plan.train.epsilon);
    k.take("weight_decay", plan.train.weight_decay);
    k.take("clip", plan.train.clip);
    k.take("fixed_batch", plan.train.fixed_batch);
  });
  keys.object("parallel", [&](Keys& k) {
    k.take("strategy", strategy);
    k.take("outer_size", plan.parallel.outer_size);
    k.take("outer_strategy", plan.parallel.outer_strategy);
    k.take("expert_parallel", plan.parallel.expert_parallel);
    k.take("overlap_grad_reduce", plan.parallel.overlap_grad_reduce);
    k.take("overlap_param_gather", plan.parallel.overlap_param_gather);
    k.take("double_buffer", plan.parallel.double_buffer);
    k.take("reduce_dtype", reduce_dtype);
    k.take("average_in_collective", plan.parallel.average_in_collective);
    k.take("max_connections", plan.parallel.max_connections);
  });
  if (!strategy.empty()) {
    plan.parallel.strategy = strategy_from(strategy);
  }
  require(reduce_dtype == "fp32" || reduce_dtype == "bf16", "parallel.reduce_dtype",
          "expected fp32 or bf16");
  plan.parallel.reduce_in_bf16 = reduce_dtype == "bf16";
  require(plan.parallel.outer_strategy == "no_shard" || plan.parallel.outer_strategy == "optim",
          "parallel.outer_strategy", "expected no_shard or optim");
  keys.object("collectives", [&](Keys& k) {
    k.take("sizes", plan.collectives.sizes);
    k.take("repeats", plan.collectives.repeats);
  });
  keys.object("checkpoint", [&](Keys& k) {
    k.take("directory", plan.checkpoint.directory);
    k.take("keep", plan.checkpoint.keep);
    k.take("asynchronous", plan.checkpoint.asynchronous);
    k.take("reload_ranks", plan.checkpoint.reload_ranks);
  });
  keys.take("checks", plan.checks);
  keys.take("compare", plan.compare);
  keys.take("initial_weights", plan.initial_weights);
  keys.take("batches", plan.batches);
  if (const json* faults = keys.any("faults")) {
    plan.faults = read_faults(*faults);
  }
  keys.object("deadlines", [&](Keys& k) {
    k.take("start", plan.deadlines.start);
    k.take("phase", plan.deadlines.phase);
    k.take("total", plan.deadlines.total);
    k.take("heartbeat", plan.deadlines.heartbeat);
  });
  keys.finish();
  check_sizes(plan);
  return plan;
}

std::string to_json_text(const Plan& plan) {
  json faults = json::array();
  for (const Fault& f : plan.faults) {
    faults.push_back({{"kind", f.kind},
                      {"rank", f.rank},
                      {"step", f.step},
                      {"factor", f.factor},
                      {"bytes", f.bytes}});
  }
  const json root = {
      {"version", 1},
      {"mode", plan.processes ? "processes" : "threads"},
      {"ranks", plan.ranks},
      {"devices", plan.devices},
      {"store", plan.store},
      {"seed", plan.seed},
      {"model",
       {{"layers", plan.model.layers},
        {"hidden", plan.model.hidden},
        {"heads", plan.model.heads},
        {"vocab", plan.model.vocab},
        {"sequence", plan.model.sequence},
        {"experts", plan.model.experts},
        {"top_k", plan.model.top_k}}},
      {"train",
       {{"steps", plan.train.steps},
        {"micro_batch", plan.train.micro_batch},
        {"micro_batches", plan.train.micro_batches},
        {"warm_up", plan.train.warm_up},
        {"learning_rate", plan.train.learning_rate},
        {"beta1", plan.train.beta1},
        {"beta2", plan.train.beta2},
        {"epsilon", plan.train.epsilon},
        {"weight_decay", plan.train.weight_decay},
        {"clip", plan.train.clip},
        {"fixed_batch", plan.train.fixed_batch}}},
      {"parallel",
       {{"strategy", name_of(plan.parallel.strategy)},
        {"outer_size", plan.parallel.outer_size},
        {"outer_strategy", plan.parallel.outer_strategy},
        {"expert_parallel", plan.parallel.expert_parallel},
        {"overlap_grad_reduce", plan.parallel.overlap_grad_reduce},
        {"overlap_param_gather", plan.parallel.overlap_param_gather},
        {"double_buffer", plan.parallel.double_buffer},
        {"reduce_dtype", plan.parallel.reduce_in_bf16 ? "bf16" : "fp32"},
        {"average_in_collective", plan.parallel.average_in_collective},
        {"max_connections", plan.parallel.max_connections}}},
      {"collectives", {{"sizes", plan.collectives.sizes}, {"repeats", plan.collectives.repeats}}},
      {"checkpoint",
       {{"directory", plan.checkpoint.directory},
        {"keep", plan.checkpoint.keep},
        {"asynchronous", plan.checkpoint.asynchronous},
        {"reload_ranks", plan.checkpoint.reload_ranks}}},
      {"checks", plan.checks},
      {"compare", plan.compare},
      {"initial_weights", plan.initial_weights},
      {"batches", plan.batches},
      {"faults", faults},
      {"deadlines",
       {{"start", plan.deadlines.start},
        {"phase", plan.deadlines.phase},
        {"total", plan.deadlines.total},
        {"heartbeat", plan.deadlines.heartbeat}}}};
  return root.dump();
}

}  // namespace shardlint::ranks
