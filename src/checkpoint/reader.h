#pragma once
// Values of a checkpoint's tensors, whatever way they are sharded on disk: what a trainer on
// another number of ranks needs.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/file.h"
#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// Where the values of a chunk lie: found by opening its archive.
struct Values {
  bool located = false;
  std::uint64_t offset = 0;  // in the chunk's file
  Shape strides;  // in elements; those of C order but for tensors that were saved transposed
};
// Throws Error when the archive is damaged or holds another shape or element type.
Values locate_values(const Checkpoint& checkpoint, const Tensor& tensor, const Chunk& chunk,
                     FilePool& files);

// The tensors of a directory (the iteration itself: no tracker is followed). Throws Error when it
// is no checkpoint or its description is damaged.
Checkpoint open_for_reading(const std::string& directory);

// A tensor opened for many reads: each archive is opened once.
class TensorReader {
 public:
  TensorReader(const Checkpoint& checkpoint, const Tensor& tensor, FilePool& files)
      : checkpoint_(checkpoint), tensor_(tensor), files_(files), values_(tensor.chunks.size()) {}
  // As read_region.
  void read(std::span<const std::int64_t> offsets, std::span<const std::int64_t> sizes,
            std::span<std::byte> out);

 private:
  const Checkpoint& checkpoint_;
  const Tensor& tensor_;
  FilePool& files_;
  std::vector<Values> values_;
};

// Copies the elements [offsets, offsets + sizes) of a tensor into `out`, in C order; out.size() is
// their number times the element size. Throws Error when a part of the region is in no chunk.
void read_region(const Checkpoint& checkpoint, const Tensor& tensor,
                 std::span<const std::int64_t> offsets, std::span<const std::int64_t> sizes,
                 std::span<std::byte> out, FilePool& files);

// The whole tensor.
std::vector<std::byte> read_tensor(const Checkpoint& checkpoint, const Tensor& tensor,
                                   FilePool& files);

}  // namespace shardlint::checkpoint
