#pragma once
// Which version of a framework a file is judged as: what the options name, else what the project
// pins, else the newest known.

#include <map>
#include <string>
#include <vector>

#include "discover/pins.h"
#include "lint/units.h"
#include "shardlint/lint.h"

namespace shardlint {

// The options of each file, with the versions that the project around it pins. Thread-confined;
// what of() gives lives as long as this. The disk is asked for files only where Options::pins is
// set.
class PinnedOptions {
 public:
  PinnedOptions(const Disk& disk, const Options& options) : options_(options), finder_(disk) {}
  const Options& of(const std::string& path);
  std::vector<std::string> notes() const { return notes_; }

 private:
  const Options& options_;
  PinFinder finder_;
  std::map<std::string, Options> variants_;  // by the pins that they add
  std::vector<std::string> notes_;
};

// Of the file's configurations, as `options` (those of the file) made them.
std::vector<Target> targets_of(const ReadFile& read, const Options& options);

// Each target and note once, in order.
void sort_targets(Result& result);

}  // namespace shardlint
