#pragma once
// data.pkl of a torch.save archive: which tensors it describes and in which records their values
// lie.

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/bytes.h"
#include "checkpoint/dtype.h"
#include "checkpoint/pickle.h"
#include "checkpoint/zip.h"

namespace shardlint::checkpoint {

struct StoredTensor {
  DType dtype = DType::unknown;
  Shape shape, strides;
  std::uint64_t storage_offset = 0;  // elements
  std::uint64_t storage_bytes = 0;   // as the pickle says
  std::string storage;               // the record is data/<storage>
  std::string device;
  bool contiguous() const;
  // Bytes of the storage that the elements span; nothing when they do not lie inside it.
  std::optional<std::uint64_t> extent() const;
};

// The tensor that a value of a data.pkl describes, or nothing.
std::optional<StoredTensor> stored_tensor(const pickle::Pickle& pickle, const pickle::Value& value);

// The storages that a data.pkl refers to, with their element types: data/<first>.
std::vector<std::pair<std::string, DType>> storages(const pickle::Pickle& pickle);

Shape contiguous_strides(std::span<const std::int64_t> shape);

}  // namespace shardlint::checkpoint
