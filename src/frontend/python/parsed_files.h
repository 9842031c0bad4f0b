#pragma once
// The Python files of a run, each parsed once, whichever thread asks first.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/files.h"
#include "frontend/python/syntax.h"
#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint::python {

struct ParsedFile {
  ParsedFile(std::string path, std::string text) : source(std::move(path), std::move(text)) {}
  Source source;
  std::unique_ptr<const Syntax> syntax;  // null when the file cannot be read as Python at all
  std::vector<Diagnostic> problems;
};

// Safe to share between threads; each has Names of its own over names().
class ParsedFiles {
 public:
  // Null when the file cannot be read or is larger than 4 MiB. What is returned outlives this.
  std::shared_ptr<const ParsedFile> open(const std::string& path, const Disk& disk, Names& names);
  const std::shared_ptr<NameTable>& names() const { return names_; }

 private:
  struct Slot {
    std::once_flag once;
    std::shared_ptr<const ParsedFile> file;
  };
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  std::shared_ptr<NameTable> names_ = std::make_shared<NameTable>();
};

}  // namespace shardlint::python
