#pragma once
// The files of a checkpoint as the file system has them, asked once.

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/file.h"
#include "checkpoint/model.h"

namespace shardlint::checkpoint {

struct Survey {
  std::vector<std::optional<FileInfo>> files;  // as Checkpoint::files
  std::vector<std::string> names;              // all entries of the directory

  // True when the bytes are where they are said to be.
  bool holds(const Place& place) const;
};
Survey survey(const Checkpoint& checkpoint);

}  // namespace shardlint::checkpoint
