#pragma once
// Modules by name and by path: where they lie on disk, their syntax, and which statements of a
// module's top level have to run before a name of it can be read.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "frontend/python/parsed_files.h"
#include "frontend/python/syntax.h"
#include "frontend/python/values.h"
#include "shardlint/diagnostic.h"

namespace shardlint::python {

struct Module {
  std::string name;  // megatron.bridge.recipes.common
  std::string path;  // of the file; of a folder without __init__.py: the folder
  bool is_package = false;
  const Syntax* syntax = nullptr;  // null for a folder without __init__.py
  Object* globals = nullptr;       // a scope
  std::unordered_map<Name, std::vector<const Node*>> touched_by;  // statements of the top level
  std::vector<const Node*> star_imports;
  enum class Ran : std::uint8_t { not_yet, running, done };
  std::unordered_map<const Node*, Ran> ran;  // statements of the top level
  std::vector<Diagnostic> problems;          // of its text
};

// The folders that reading a file makes roots: those above it in which packages may start.
std::vector<std::string> roots_above(const Disk& disk, const std::string& path);

class ModuleTable {
 public:
  // Files are looked up in `sources` first, then in `files`; where that is null, read into
  // `sources`.
  ModuleTable(const Disk& disk, Sources& sources, Names& names, std::vector<std::string> roots,
              ParsedFiles* files);

  // The module of a file that is linted; its folder's ancestors become roots too.
  Module* open(const Source& source, std::vector<Diagnostic>& problems);
  // The module of a file that an import finds under the file's own name, whoever asks first; null
  // when the file is not that.
  Module* open_shared(const std::string& path);
  // The module of a file that was opened; null when it was not.
  const Module* opened(const std::string& path) const;
  // Makes the folders above a file roots, where packages may start there.
  void add_roots_above(const std::string& path);
  Module* find(const std::string& name);  // null when it is not on disk
  // The full name of `from ..text import`, as seen from a module.
  std::string absolute(const Module& from, int level, std::string_view text) const;

  // Every file that was read, and the problems of those that were not given to open().
  std::size_t files_read() const { return by_path_.size(); }

  // Something was met whose meaning depends on what was read before it: a circle of imports, one
  // file under two names, a limit. What is kept must not be used for another file then.
  bool order_matters = false;

 private:
  Module* load(const std::string& path, std::string name, bool package);
  void index(Module& module);
  void index_decorated(Module& module);
  void touch(Module& module, const Node& statement, const Node& top);
  void touch_target(Module& module, const Node& target, const Node& top);
  std::string name_of(const std::string& path) const;
  bool is_file(const std::string& path);

  const Disk& disk_;
  Sources& sources_;
  Names& names_;
  ParsedFiles* parsed_;
  std::vector<std::string> roots_;
  std::map<std::string, std::unique_ptr<Module>> by_path_;
  std::unordered_map<std::string, Module*> by_name_;
  std::unordered_map<std::string, bool> files_;
  std::vector<std::unique_ptr<Syntax>> syntaxes_;
  std::vector<std::shared_ptr<const ParsedFile>> shared_;  // kept as long as the modules
  std::vector<std::unique_ptr<Object>> globals_;
};

}  // namespace shardlint::python
