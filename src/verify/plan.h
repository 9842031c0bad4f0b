#pragma once
// What the trainer is asked to do (docs/verify-protocol.md), and how it follows from a
// configuration: every setting that a person wrote is exercised, scaled down or left out, and said
// to be so.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/config.h"

namespace shardlint::verify {

struct Preset {
  std::string_view name;
  int layers, hidden, heads, vocab, sequence, micro_batch;
};
// tiny, small, 539m. Null for another name.
const Preset* find_preset(std::string_view name);

struct Fault {
  std::string kind;
  int rank = 0, step = 1;
  double factor = 2;
  std::uint64_t bytes = 0;
};
// "kill:1:2" is kind, rank, step; a fourth field is the factor or the number of bytes. Throws
// Error.
Fault parse_fault(std::string_view text);

struct Plan {
  std::string mode = "threads";  // threads | processes
  int ranks = 2;
  std::vector<int> devices;
  std::string store;
  std::uint64_t seed = 1234;
  int layers = 2, hidden = 128, heads = 2, vocab = 256, sequence = 128, experts = 0, top_k = 1;
  int steps = 4, micro_batch = 2, micro_batches = 1, warm_up = 0;
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.01,
         clip = 0;
  std::string strategy = "optim_grads_params", outer_strategy = "no_shard", reduce_dtype = "fp32";
  int outer_size = 1, expert_parallel = 1, max_connections = 0;
  bool overlap_grad_reduce = true, overlap_param_gather = true, double_buffer = false,
       average_in_collective = false;
  std::vector<std::uint64_t> collective_sizes = {65536, 1048576, 16777216};
  int collective_repeats = 5;
  std::string checkpoint_directory;
  bool keep_checkpoint = false, asynchronous = false;
  std::vector<std::string> checks = {"environment", "collectives", "finite", "parity",
                                     "replicas",    "checkpoint",  "memory"};
  bool compare = false;
  std::vector<Fault> faults;
  double start_deadline = 60, phase_deadline = 30, total_deadline = 600, heartbeat = 0.5;
};

std::string to_json(const Plan& plan);

enum class Use { exercised, scaled, not_exercised };
std::string_view use_name(Use use);

// One setting of the configuration and what became of it.
struct Setting {
  std::string key, value;
  Use use = Use::not_exercised;
  std::string how;      // how it is exercised, what it was scaled to, why it is left out
  bool limits = false;  // leaves a part of the configuration's parallelism or arithmetic unproven
  Location where;
};

// What the command line asks for. Zero and empty mean: as the configuration says, or the default.
struct Wishes {
  std::string preset = "tiny";
  int steps = 0, ranks = 2;
  bool processes = false, compare = false;
  std::string strategy, scope, save;
  std::uint64_t seed = 1234;
};

struct Planned {
  Plan plan;
  std::vector<Setting> settings;  // sorted: exercised, scaled, not exercised; each by key
  bool data_parallel_only = false;
  std::vector<std::pair<std::string, std::string>> environment;  // to set for the job
  std::vector<std::string> unset;                                // to take out of its environment
  std::vector<std::string> notes;  // what else a reader should know of the mapping
  std::string digest;              // of the configuration: "fnv1a64:..."; empty without one
  std::string framework;
  Location anchor;       // of the configuration as a whole
  int ranks_wanted = 0;  // more than there are, to exercise all of it; 0: it is enough
};

// `config` may be null: then the plan is the defaults and the wishes.
Planned make_plan(const Config* config, const Wishes& wishes);

}  // namespace shardlint::verify
