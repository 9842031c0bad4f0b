#pragma once
// The Python readers of one thread, for a run over many files. Files that lie under the same roots
// share what was read: modules are parsed, and their classes and constants evaluated, once. What a
// file gives is the same whichever files were read before it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/python/edits.h"
#include "frontend/python/python.h"

namespace shardlint {

class PythonReaders {
 public:
  // The option's `sources` is not used: each reader has its own.
  explicit PythonReaders(PythonOptions options) : options_(std::move(options)) {}

  struct Reading {
    std::vector<Facts> configurations;
    const Source* source = nullptr;              // of the file
    std::shared_ptr<python::Editable> editable;  // the file, for changes; null where it is no file
    std::shared_ptr<const Sources> owner;        // what the facts point into, as long as it is held
  };
  Reading read(const std::string& path, std::string text, std::vector<Diagnostic>& diagnostics);
  // Parses the file for whoever reads it later, on any thread that shares the option's `files`.
  void parse_ahead(const std::string& path);

  // PythonReader::recipe(); nothing in the answer when no such recipe is known.
  Reading recipe(std::string_view name, const std::string& near, const Span& where,
                 std::vector<Diagnostic>& diagnostics);

 private:
  struct Shelf;  // a reader with its sources
  std::shared_ptr<Shelf> fresh() const;
  std::shared_ptr<Shelf> shelf_for(const std::string& roots);
  static Reading reading(std::vector<Facts> configurations, const std::string& path,
                         const std::shared_ptr<Shelf>& shelf);

  PythonOptions options_;
  std::shared_ptr<Shelf> ahead_;                                        // for parse_ahead()
  std::map<std::string, std::shared_ptr<Shelf>, std::less<>> shelves_;  // by the roots of the files
};

}  // namespace shardlint
