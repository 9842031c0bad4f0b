#pragma once
// Opens one item, an archive of torch.save, and holds it against what is recorded of it. Reads its
// directory, headers and description; values only where they are small.

#include <string>
#include <vector>

#include "checkpoint/model.h"
#include "checkpoint/torch_record.h"
#include "checkpoint/zip.h"

namespace shardlint::checkpoint {

// Values that are left to read: one record of one archive.
struct ValueRecord {
  std::uint64_t offset = 0, size = 0;  // in the file
  std::uint32_t crc = 0;
  bool has_crc = false;
  DType dtype = DType::unknown;
  std::string name;  // data/0
};

struct Examined {
  std::vector<Finding> findings;
  std::vector<ValueRecord> values;
  std::string signature;     // names of the records beside the values: tells writers apart
  bool without_crc = false;  // the writer recorded none
};

// What an item should be. A null tensor means an object.
struct Expected {
  std::string file, key;
  const Tensor* tensor = nullptr;
  const Chunk* chunk = nullptr;
  bool read_small = true;  // compare the checksums of the small records
};

Examined examine(const Window& window, const Expected& expected);

}  // namespace shardlint::checkpoint
