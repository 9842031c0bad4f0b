#pragma once
// Saves tensors that lie in shards on many ranks as torch.distributed.checkpoint does, so that
// torch loads the result unchanged. The layout of every file follows from the plan alone: each
// rank writes its own file without talking to the others, and whoever commits knows all offsets.
//
//   Save save(directory, plan);          // the same plan on every rank
//   save.write_rank(rank, fetch);        // one thread or process a rank, in any order
//   save.commit();                       // one rank, after all have written
//
// Until commit() returns, `directory` does not exist; what is written lies in a directory beside
// it, `directory`.partial-<id>, which a failed save leaves for a person to remove.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/archive_writer.h"
#include "checkpoint/dtype.h"

namespace shardlint::checkpoint {

struct WriteTensor {
  std::string name;  // the key: the path joined with dots
  DType dtype = DType::float32;
  Shape shape;                      // of the whole tensor
  std::vector<std::string> path{};  // dictionary keys from the root; empty: the key itself
};

// One piece of one tensor, on one rank. Pieces of a tensor must tile it; a replicated value is
// written by one rank alone. Pieces without elements may be given; they are left out.
struct WriteShard {
  std::size_t tensor = 0;  // index into WritePlan::tensors
  std::uint32_t rank = 0;
  Shape offsets, sizes;
};

struct WriteObject {
  std::string name;
  Leaf value;
  std::vector<std::string> path{};  // a list position is its number, as text
};

struct WritePlan {
  std::vector<WriteTensor> tensors;
  std::vector<WriteShard> shards;    // in this order within each rank's file
  std::vector<WriteObject> objects;  // written by rank 0, first
  std::uint32_t ranks = 1;
  // Ranks in several processes must agree on it; a single process may leave it to the constructor.
  std::string save_id{};
};

class Save {
 public:
  // Throws Error when the directory exists and is not empty, or the shards do not tile the tensors.
  Save(std::string directory, WritePlan plan);

  // The bytes of a shard in C order; called once for each shard of the rank that has
  // elements, in the plan's order.
  // What it returns must stay valid until the next call.
  using Fetch = std::function<std::span<const std::byte>(const WriteShard&)>;
  // Writes and syncs the rank's file. Thread-safe for different ranks. Throws Error.
  void write_rank(std::uint32_t rank, const Fetch& fetch) const;

  // Checks that every rank's file is complete, writes the description, syncs and renames.
  void commit() const;

  const std::string& directory() const { return directory_; }

 private:
  struct Extent {
    std::uint64_t offset = 0, length = 0;
  };
  std::string file_of(std::uint32_t rank) const;
  std::string metadata() const;

  std::string directory_, partial_;
  WritePlan plan_;
  std::vector<std::string> objects_;  // the archive of each object
  std::vector<Extent> object_extents_;
  std::vector<Extent> extents_;            // of each shard
  std::vector<std::uint64_t> file_sizes_;  // of each rank
};

}  // namespace shardlint::checkpoint
