#pragma once
// A whole file of torch.save: a nested dictionary with tensors at its leaves.

#include <memory>
#include <string>

#include "checkpoint/file.h"
#include "checkpoint/model.h"
#include "checkpoint/pickle.h"

namespace shardlint::checkpoint {

// The pickle of an archive with the bytes that it refers to.
struct LoadedObject {
  std::string bytes;
  pickle::Pickle pickle;
  std::uint64_t offset = 0;  // of the pickle in the file
};
// Null when the window is no archive with a readable data.pkl.
std::unique_ptr<LoadedObject> load_object(const Window& window);

// Adds the tensors of `file` (relative to the checkpoint's directory) under `prefix`, and the file
// to the archives whose bytes a deep check reads. Damage becomes findings.
void add_torch_file(const std::string& file, const std::string& prefix, Checkpoint& into);

}  // namespace shardlint::checkpoint
