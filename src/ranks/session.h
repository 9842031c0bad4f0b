#pragma once
// One plan from the first rank's start to the report: the order of checks, and what they share.

#include <functional>
#include <memory>
#include <mutex>

#include "ranks/run.h"

namespace shardlint::ranks {

// The report, filled by rank 0 while the watchdog may want to print it.
class Reporter {
 public:
  void with(const std::function<void(Report&)>& change) {
    const std::lock_guard lock(mutex_);
    change(report_);
  }

 private:
  std::mutex mutex_;
  Report report_;
};

// What checks hand on to later ones.
struct Session {
  Rank& rank;
  Reporter& reporter;
  std::unique_ptr<Run> main;    // the plan's own strategy, alive until the checkpoint check ends it
  RunRecord reference;          // one rank alone over everybody's data
  MemoryAccount main_memory{};  // of the main run
  bool wants(const char* check) const { return rank.plan.wants(check); }
};

// Closes a check: `failed` on any rank makes it fail everywhere; rank 0 reports it, naming the
// ranks that failed and their reasons. Every rank must call it.
void finish_check(Session& session, Check check);

void check_environment(Session& session);
void check_collectives(Session& session);
void check_parity(Session& session);  // before check_training: it also loads every kernel
void train(Session& session);         // makes session.main; check "finite"
void check_replicas(Session& session);
void check_checkpoint(Session& session);
void check_memory(Session& session);
void compare_strategies(Session& session);

// A rank's whole life. Throws what it cannot survive.
void run_rank(const Plan& plan, Store& store, int rank, int size, int device, Reporter& reporter);

// Model state and activations a rank will need, by arithmetic.
std::uint64_t expected_model_state(const Rank& rank, Strategy strategy);
std::uint64_t expected_peak(const Rank& rank, Strategy strategy);

// Deep validation by the checkpoint room.
std::vector<Finding> deep_check(const std::string& directory, bool& sound);

}  // namespace shardlint::ranks
