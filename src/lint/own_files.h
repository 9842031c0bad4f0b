#pragma once
// Configuration files of the user's own that a command names: Hydra's --config-path and
// --config-dir, Megatron-Bridge's --config-file.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "facts/config.h"
#include "frontend/overrides/hydra_compose.h"
#include "frontend/words.h"
#include "source/source.h"

namespace shardlint {

class OwnCopy;

// A file or folder that a word names, as seen from a script: relative paths, and those whose
// beginning is not known ($PWD/conf), are tried from the script's folder and those above it.
// Absolute paths belong to the machine that runs the job.
std::optional<std::string> find_beside(const Word& word, const std::string& script,
                                       const Disk& disk);

// The trees in which the words make Hydra look besides its program's own.
struct OwnTrees {
  FindTreeFile find;         // empty: there are none
  PlaceTreeFile place;       // of the values in their files
  bool unreachable = false;  // a tree is named that is not here
  // The tree of a copy of verl, which outlives this one, answers for what is not here.
  void lie_over(const OwnCopy& copy);

  struct Store;
  std::shared_ptr<Store> store;
};
OwnTrees own_trees(std::span<const Word> words, const std::string& program, bool module,
                   const std::string& script, Sources& sources, const Disk& disk);

// The facts of an override file; nothing when it is not there or no such file.
std::optional<Facts> override_file(const std::string& path, Sources& sources, const Disk& disk);

// The variables of a Ray runtime environment file (its env_vars), as facts env.NAME; nothing when
// it is not there. A plain string each: Ray takes no other.
std::vector<Fact> runtime_environment(const std::string& path, Sources& sources, const Disk& disk);

}  // namespace shardlint
