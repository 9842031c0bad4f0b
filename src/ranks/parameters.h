#pragma once
// The parameters of one run on one rank under one sharding strategy: float main weights and
// moments (whole or this rank's part), bf16 weights for computing (kept, or gathered a bucket at a
// time), gradients (kept whole, or reduced a bucket at a time). Owns the communication and its
// streams; the model only says "I need bucket b now, c next" and "its gradient is complete".
//
//   strategy            main + moments   gradients kept   bf16 weights
//   no_shard            whole            whole            whole
//   optim               part             whole            whole
//   optim_grads         part             part             whole
//   optim_grads_params  part             part             gathered when needed

#include <optional>
#include <vector>

#include "ranks/buffer.h"
#include "ranks/comm.h"
#include "ranks/layout.h"
#include "ranks/ops.h"

namespace shardlint::ranks {

// The groups a run works in. `shard` and `outer` split the data-parallel ranks (HSDP);
// `expert_data` holds the replicas of this rank's experts, `expert` the ranks that share tokens.
struct Groups {
  Comm* shard;
  Comm* outer;
  Comm* data;  // all of them
  Comm* expert_data;
  Comm* expert;
};

struct ShardOptions {
  Strategy strategy;
  bool overlap_gather, overlap_reduce, reduce_in_bf16, average;
  bool timed;  // measure the time that computing waits
};

class Parameters {
 public:
  Parameters(Layout layout, const Groups& groups, const ShardOptions& options, Stream& compute);
  ~Parameters();

  const Layout& layout() const { return layout_; }

  // --- computing: spans of whole buckets
  Weights weights(std::size_t bucket, std::optional<std::size_t> next);  // waits for it
  void release(std::size_t bucket);  // computing with it is queued
  struct Gradient {
    std::span<float> data;
    bool fresh;  // contents are garbage, to be overwritten; else to be added to
  };
  // spare: memory that may hold the gradient of the embedding, which comes last.
  Gradient gradient(std::size_t bucket, std::span<float> spare = {});
  void gradient_complete(std::size_t bucket);
  void start_micro_batch(bool first, bool last);

  // --- once a step
  // squares: sum of squared reduced gradients over all ranks' parts, once per parameter (device).
  void reduce_norm(std::span<float> squares);
  void update(const AdamW& options, std::span<const float> factor);
  double exposed_ms();  // of the last step; computing has finished

  // --- state
  struct State {
    std::span<float> main, first, second;  // of `range` of the bucket
    Range range;
  };
  State state(std::size_t bucket);
  std::span<float> kept_gradient(std::size_t bucket);  // of the range, or whole
  void initialise(std::uint64_t seed);
  void publish();  // main weights were changed from outside: refresh bf16 weights
  bool owns_norm(std::size_t bucket) const;
  Comm& group_of(std::size_t bucket) const;  // over which the bucket is cut
  bool sharded() const { return options_.strategy != Strategy::no_shard; }
  // Injected faults: what happens to this rank's gradients before they are reduced.
  enum class Spoil { nothing, nan, scaled };
  void spoil(Spoil how, float factor) {
    spoil_ = how;
    spoil_factor_ = factor;
  }

 private:
  struct Slot {
    Buffer<bf16> weights;
    std::optional<std::size_t> holder;
    Event free, ready;
    bool in_use = false;
  };
  struct GradientSlot {
    Buffer<float> data;
    Event free;
  };
  struct Kept {
    Range range{};
    Buffer<float> main, first, second, gradient;
    Buffer<bf16> weights;
    Event ready, reduced;
  };
  void gather(std::size_t bucket, std::span<bf16> whole);
  void prefetch(std::size_t bucket);
  void reduce(std::size_t bucket, std::span<float> whole);
  void wait_timed(const Event& event);
  bool part_kept() const {  // of the gradients
    return options_.strategy == Strategy::optim_grads ||
           options_.strategy == Strategy::optim_grads_params;
  }
  Reduce reduction() const { return options_.average ? Reduce::average : Reduce::sum; }
  Slot& slot_of(std::size_t bucket);
  GradientSlot& gradient_slot_of(std::size_t bucket);

  Layout layout_;
  Groups groups_;
  ShardOptions options_;
  Stream& compute_;
  Stream gather_stream_{true}, reduce_stream_{true};
  std::vector<Kept> kept_;
  std::vector<Slot> slots_;                   // layer even, layer odd, embedding and head, experts
  std::vector<GradientSlot> gradient_slots_;  // big, layer, embedding, experts
  std::vector<std::span<float>> borrowed_;    // gradient memory in use, by bucket
  Buffer<bf16> reduce_scratch_;
  Buffer<float> squares_, scratch_;
  Spoil spoil_ = Spoil::nothing;
  float spoil_factor_ = 1;
  bool first_micro_ = true, last_micro_ = true;
  bool quiet_ = true;  // the first step runs without overlap: kernels are still being loaded
  std::vector<std::pair<Event, Event>> waits_;
  std::size_t waits_used_ = 0;
};

}  // namespace shardlint::ranks
