#pragma once
// What a checkpoint holds, whatever its format: tensors in pieces, objects, and where their bytes
// lie. Plain data; readers make it, checks and commands look at it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/bytes.h"
#include "checkpoint/dtype.h"
#include "checkpoint/fault.h"

namespace shardlint::checkpoint {

enum class Format {
  unknown,
  torch_dcp,     // .metadata and .distcp files, keys as the job named them
  fsdp_dtensor,  // the same, keys of Megatron-FSDP
  torch_dist,    // Megatron-Core: the same with metadata.json
  legacy,        // mp_rank_XX/model_optim_rng.pt
  fsdp_ranks,    // verl: model_world_size_W_rank_R.pt
  safetensors,   // Hugging Face: *.safetensors with or without an index
  torch_file,    // one file of torch.save
  zarr,          // Megatron-Core before 0.16
};
std::string_view name_of(Format format);

constexpr std::uint32_t no_file = UINT32_MAX;

// Bytes of a file: an archive of torch.save (an item), or the values themselves.
struct Place {
  std::uint32_t file = no_file;  // index into Checkpoint::files
  std::uint64_t offset = 0, length = 0;
};

struct Chunk {
  Shape offsets, sizes;
  Place place;
  bool raw = false;          // place holds the values, not an archive
  bool transformed = false;  // the bytes were compressed or otherwise changed by the writer
};

struct Tensor {
  std::string name;
  DType dtype = DType::unknown;
  Shape shape;
  std::vector<Chunk> chunks;  // volume(shape) elements when the checkpoint is whole
};

struct Item {
  std::string name;
  Place place;
  bool transformed = false;
};

struct Checkpoint {
  std::string directory;
  Format format = Format::unknown;
  std::string role;  // model, optimizer, ... in trees of several checkpoints; else empty
  std::vector<std::string> files;             // relative to the directory
  std::vector<Tensor> tensors;                // sorted by name
  std::vector<Item> items;                    // sorted by name: objects that are no tensors
  std::map<std::string, Shape> whole_shapes;  // of tensors of which one file holds one rank's part
  std::vector<std::string> archives;          // whole files of torch.save, relative
  std::map<std::string, std::string> facts;   // small things to show: version, save_id, world size
  std::vector<Finding> findings;              // what reading met
  bool has_metadata = false;  // the description could be read, so that absences mean something

  std::string path(std::uint32_t file) const;
  const Tensor* find(std::string_view name) const;
  const Item* item(std::string_view name) const;
};

std::string text_of(std::span<const std::int64_t> shape);  // (4, 16)

// What a tensor is for, from its key.
enum class Part { model, optimizer, other };
Part part_of(std::string_view key);
bool has_optimizer(const Checkpoint& checkpoint);

}  // namespace shardlint::checkpoint
