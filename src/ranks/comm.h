#pragma once
// Collectives over a group of ranks. comm_threads.cpp: shared memory, sums in rank order.
// comm_nccl.cpp: NCCL. A group of one copies nothing and needs nobody.
// Failures and aborts throw Error.

#include <memory>
#include <span>
#include <string>

#include "ranks/bf16.h"
#include "ranks/device.h"

namespace shardlint::ranks {

class Store;

enum class Reduce { sum, average };

class Comm {
 public:
  // Every rank of the group calls this with the same key. Waits for the others.
  Comm(Store& store, const std::string& key, int rank, int size);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // In place: this rank's part lies at rank * whole.size() / size().
  void all_gather(std::span<float> whole, Stream& stream);
  void all_gather(std::span<bf16> whole, Stream& stream);
  // part may be this rank's place in whole.
  void reduce_scatter(std::span<float> whole, std::span<float> part, Reduce reduce, Stream& stream);
  void reduce_scatter(std::span<bf16> whole, std::span<bf16> part, Reduce reduce, Stream& stream);
  void all_reduce(std::span<float> data, Reduce reduce, Stream& stream);
  void all_reduce(std::span<bf16> data, Reduce reduce, Stream& stream);

  // Waits for the stream while watching the communicator, so that a lost peer is an Error.
  void wait(Stream& stream);

  struct Group;

 private:
  int rank_, size_;
  std::unique_ptr<Group> group_;
};

// From any thread: every collective under way in this process fails as soon as it can.
void abort_all_comms() noexcept;

}  // namespace shardlint::ranks
