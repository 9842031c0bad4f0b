#pragma once
// Reading and checking checkpoints of sharded training without Python, torch or a GPU: torch
// distributed checkpoints, Megatron's formats, verl's and Megatron-Bridge's trees, Hugging Face
// directories. Nothing that is read is ever executed. All functions throw shardlint::Error when
// there is no checkpoint at the path; damage is not an error but a list of diagnostics.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint {

struct CheckpointOptions {
  bool deep = false;     // read every byte: checksums, NaN, negative second moments, ...
  unsigned threads = 0;  // 0: as many as the machine has
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};  // bytes, when deep
};

// Codes CKD101 to CKD199: docs/checkpoint-format.md lists them. Sorted; empty when sound.
std::vector<Diagnostic> check_checkpoint(const std::string& path,
                                         const CheckpointOptions& options = {});

struct CheckpointTensor {
  std::string name, dtype;          // torch's name of the element type
  std::vector<std::int64_t> shape;  // of the whole tensor
  std::size_t pieces = 0;           // shards on disk
  std::uint64_t bytes = 0;          // of its values
};

struct CheckpointPart {
  std::string directory, role, format;
  std::vector<CheckpointTensor> tensors;  // by name
  std::vector<std::string> objects;       // keys that are no tensors
  std::size_t files = 0;
  std::uint64_t bytes_on_disk = 0, model_bytes = 0, optimizer_bytes = 0, other_bytes = 0;
  std::uint64_t model_elements = 0;
  bool has_optimizer = false, has_rng = false;
  std::map<std::string, std::string> facts;  // what the writer recorded: iteration, sizes, versions
};

struct CheckpointSummary {
  std::string path, layout, directory;  // directory: the iteration that would be loaded
  std::string iteration;                // empty when unknown
  std::vector<std::string> iterations;  // all that lie at the path
  std::vector<CheckpointPart> parts;
};
CheckpointSummary inspect_checkpoint(const std::string& path);

struct TensorDifference {
  std::string name;
  std::string verdict;  // equal | values | shape | dtype | only-a | only-b | unreadable
  std::string detail;
  double largest_absolute = 0, largest_relative = 0;
  std::uint64_t differing = 0, elements = 0;
  std::string digest_a, digest_b;  // XXH64 of the values in C order, whatever the sharding
};
std::vector<TensorDifference> diff_checkpoints(const std::string& a, const std::string& b);

}  // namespace shardlint
