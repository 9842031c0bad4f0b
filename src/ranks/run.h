#pragma once
// A rank's surroundings, and one training run in them.

#include <memory>
#include <optional>

#include "ranks/model.h"
#include "ranks/report.h"
#include "ranks/store.h"

namespace shardlint::ranks {

struct Rank {
  const Plan& plan;
  Store& store;
  int rank, size;
  // Groups of the same ranks share a communicator: making one takes a good part of a second.
  std::vector<std::unique_ptr<Comm>> comms;
  Comm *world, *alone, *shard, *outer, *expert, *expert_data;
  // Which of the plan's wishes the number of ranks allows.
  int outer_size = 1, expert_parallel = 1;
  Groups groups(bool by_itself) const;
  bool first() const { return rank == 0; }
};
// Joins the groups. Wishes that cannot be met are named in report.not_exercised.
std::unique_ptr<Rank> join(const Plan& plan, Store& store, int rank, int size, Report& report);

// Every rank's value, by rank.
std::vector<float> gather_values(Rank& rank, float value);
void meet(Rank& rank);

struct RunSpec {
  std::string name;
  Strategy strategy;
  bool by_itself = false;  // this rank alone, over everybody's data
  bool timed = false;
  bool faults = false;  // take part in the injected faults
};

struct StepResult {
  double loss, grad_norm, ms, exposed_ms;
};

class Run {
 public:
  Run(Rank& rank, const RunSpec& spec);
  StepResult step(int number);  // from 0; also decides which data it sees
  Parameters& parameters() { return parameters_; }
  Stream& compute() { return compute_; }
  RunRecord& record() { return record_; }
  int next_step() const { return next_step_; }
  void set_next_step(int step) { next_step_ = step; }
  // Gathers every bucket's bf16 weights and adds a digest of their bits.
  std::uint64_t digest_of_weights();
  const RunSpec& spec() const { return spec_; }

 private:
  std::vector<std::int32_t> tokens(int step, int data_rank, int micro) const;
  void inject(int number);
  void corrupt_shard(int number);
  Rank& rank_;
  RunSpec spec_;
  Stream compute_;
  Groups groups_;
  Parameters parameters_;
  Model model_;
  Buffer<float> results_;  // loss, sum of squares
  Buffer<float> factor_;
  Event begun_{true}, ended_{true};
  RunRecord record_;
  int next_step_ = 0;
};

}  // namespace shardlint::ranks
