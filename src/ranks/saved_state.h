#pragma once
// A run's state in a checkpoint: Megatron's fsdp_dtensor keys, float32 main weights and moments.
//
//   model.module.<name>                                        main weights
//   optimizer.state.module.module.module.<name>.exp_avg        moments
//   optimizer.state.module.module.module.<name>.exp_avg_sq
//   optimizer.param_to_group_meta.module.module.module.<name>.{lr,weight_decay,step}   (objects)
//   iteration, checkpoint_version, args                        (objects)
//
// A rank's part of a flat bucket becomes boxes of the tensors that it touches.

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/writer.h"
#include "ranks/run.h"

namespace shardlint::ranks {

// Host copies of this rank's part of every bucket.
struct Snapshot {
  struct Part {
    float *main, *first, *second;
    std::size_t count;
  };
  std::vector<Part> parts;
  float* memory = nullptr;  // pinned; owned
  std::size_t floats = 0;
  Snapshot() = default;
  Snapshot(Snapshot&& other) noexcept;
  ~Snapshot();
};
// Room for a snapshot; copying is queued on the stream, which the caller waits for.
Snapshot make_snapshot(Run& run);
void take_snapshot(Run& run, Snapshot& snapshot, Stream& stream);

// Writes the run's state after `iteration` steps into `directory`. Every rank constructs one.
class StateWriter {
 public:
  StateWriter(Rank& rank, Run& run, const std::string& directory, int iteration,
              const std::string& save_id);
  void write(const Snapshot& snapshot) const;  // this rank's file
  void commit() const;                         // rank 0, after all have written
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Source {
    std::size_t bucket;
    int which;           // 0 main, 1 first, 2 second moment
    std::size_t offset;  // in this rank's part
  };
  Rank& rank_;
  std::vector<Source> sources_;  // of this rank's shards, in the plan's order
  std::unique_ptr<checkpoint::Save> save_;
  std::uint64_t bytes_ = 0;
};

// Fills the run's parameters from a checkpoint, whatever number of ranks wrote it.
void load_state(Run& run, const std::string& directory);
// How many of the saved elements of this rank's part differ in their bits from the snapshot.
std::uint64_t count_differences(Run& run, const std::string& directory, const Snapshot& snapshot);

}  // namespace shardlint::ranks
