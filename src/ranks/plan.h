#pragma once
// What to run, as `shardlint verify` asks for it. docs/verify-protocol.md says what each key means.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::ranks {

enum class Strategy { no_shard, optim, optim_grads, optim_grads_params };
inline constexpr Strategy all_strategies[] = {Strategy::no_shard, Strategy::optim,
                                              Strategy::optim_grads, Strategy::optim_grads_params};
std::string_view name_of(Strategy strategy);

struct ModelSizes {
  int layers = 2, hidden = 128, heads = 2, vocab = 256, sequence = 128;
  int experts = 0;  // of the last layer; 0 = dense
  int top_k = 1;
  int head_size() const { return hidden / heads; }
};

struct TrainPlan {
  int steps = 4, micro_batch = 2, micro_batches = 1, warm_up = 0;
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.01;
  double clip = 0;  // 0 = none
  bool fixed_batch = true;
};

struct ParallelPlan {
  Strategy strategy = Strategy::optim_grads_params;
  int outer_size = 1;
  std::string outer_strategy = "no_shard";
  int expert_parallel = 1;
  bool overlap_grad_reduce = true, overlap_param_gather = true, double_buffer = false;
  bool reduce_in_bf16 = false;
  bool average_in_collective = false;
  int max_connections = 0;
};

struct CollectivesPlan {
  std::vector<std::uint64_t> sizes = {65536, 1048576, 16777216};
  int repeats = 5;
};

struct CheckpointPlan {
  std::string directory;
  bool keep = false, asynchronous = false;
  int reload_ranks = 0;
};

struct Fault {
  std::string kind;
  int rank = 0, step = 0;
  double factor = 1;
  std::uint64_t bytes = 0;
};

struct Deadlines {
  double start = 60, phase = 30, total = 600, heartbeat = 0.5;
};

struct Plan {
  bool processes = false;
  int ranks = 2;
  std::vector<int> devices;
  std::string store;
  std::uint64_t seed = 1234;
  ModelSizes model;
  TrainPlan train;
  ParallelPlan parallel;
  CollectivesPlan collectives;
  CheckpointPlan checkpoint;
  std::vector<std::string> checks = {"environment", "collectives", "finite", "parity",
                                     "replicas",    "checkpoint",  "memory"};
  bool compare = false;
  std::string initial_weights, batches;
  std::vector<Fault> faults;
  Deadlines deadlines;

  bool wants(std::string_view check) const;
};

// Throws Error that names the key. Unknown keys are errors; sizes are checked against what the
// kernels can do.
Plan parse_plan(std::string_view json_text);
std::string to_json_text(const Plan& plan);

}  // namespace shardlint::ranks
