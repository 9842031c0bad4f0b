#pragma once
// From a file to the configurations it holds: front end, then layers, then one Config each.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "discover/discover.h"
#include "facts/config.h"
#include "frontend/python/readers.h"
#include "lint/brought.h"
#include "lint/own_copy.h"
#include "rules/engine.h"
#include "shardlint/lint.h"
#include "source/source.h"

namespace shardlint {

// Edits that make the changes to the unit's configuration where their front end would write them;
// none when it cannot make all.
using Editor = std::function<std::vector<Edit>(const Config&, std::span<const rules::Change>)>;

struct Unit {
  Config config;
  std::string version;  // the target; empty: the newest
  std::string doubt;    // why errors about the framework are none, or empty
  Editor edit;
  Span passed_on;  // a script's "$@", taken as nothing
};

struct ReadFile {
  std::string framework;  // empty: no training configuration
  std::vector<Unit> units;
  std::vector<Diagnostic> diagnostics;
  std::vector<BroughtValue> brought;                   // of a script's launches
  const Source* source = nullptr;                      // of the file
  std::vector<std::shared_ptr<const Sources>> owners;  // of what the units point into, besides
};

// The option's unsaved texts over what is on disk; `below` outlives it.
MemoryDisk disk_with_unsaved(const Options& options, const Disk& below);

// What one thread keeps from file to file.
struct Bench {
  // `files`: what the threads share; null: nothing.
  Bench(const Disk& disk, const Options& options, python::ParsedFiles* files = nullptr);
  const Disk& disk;
  const Options& options;
  PythonReaders python;
  OwnCopies copies;
};

// Sources are added to `sources`, which must outlive the result.
ReadFile read_file(const FoundFile& file, std::string text, Sources& sources, Bench& bench);

// One argument list of Megatron-LM, given as words.
ReadFile read_arguments(std::span<const std::string> arguments, Sources& sources,
                        const Options& options);

}  // namespace shardlint
