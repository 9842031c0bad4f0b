#pragma once
// The directory of a torch.save archive: a zip file of stored records, always with the 64-bit
// trailer. Local headers carry sizes of zero, so sizes come from the central directory; both are
// compared. Offsets are relative to the start of the window, which is an item of a data file or a
// whole file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/fault.h"
#include "checkpoint/file.h"

namespace shardlint::checkpoint {

struct ZipRecord {
  std::string name;  // without the prefix
  std::uint64_t header = 0, data = 0, size = 0;
  std::uint32_t crc = 0;
  bool compressed = false;
};

struct ZipProblem {
  Fault fault;
  std::uint64_t offset;  // in the window
  std::string message;
};

struct ZipDirectory {
  std::string prefix;              // "archive/": everything before the first slash, common to all
  std::vector<ZipRecord> records;  // in file order
  std::vector<ZipProblem> problems;
  bool usable = false;  // the records can be trusted to lie inside the window
  const ZipRecord* find(std::string_view name) const;
};

// Never throws on damage; Error only when the operating system cannot read.
ZipDirectory read_zip(const Window& window);

// True when the window starts like a record of a zip file.
bool starts_like_zip(const Window& window);

}  // namespace shardlint::checkpoint
