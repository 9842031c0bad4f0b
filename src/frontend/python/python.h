#pragma once
// The Python front end: what ConfigContainer a recipe function returns, or a script hands to
// pretrain() or finetune(), found without importing or running anything.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "facts/config.h"
#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint {

class Schema;
namespace python {
class ParsedFiles;
class Names;
class Syntax;
struct Module;
}  // namespace python

// How the note of a value ends that a recipe of the framework sets, one that comes with shardlint.
inline constexpr std::string_view shipped_with_shardlint = ", as shipped with shardlint";

struct PythonOptions {
  // Checkouts or package folders to look modules up in, besides the folders above the file.
  std::vector<std::string> source_roots;
  const Disk* disk = nullptr;      // null: the real one
  Sources* sources = nullptr;      // owns the files that are followed; needed, outlives the facts
  const Schema* schema = nullptr;  // classes whose source is not there; null: none
  bool defaults = true;            // one fact, Origin::default_value, for a field that nobody set
  std::string only;                // one function, by name
  bool private_functions = false;  // those with an underscore too
  // What several readers share, of one disk; outlives them. Null: nothing.
  python::ParsedFiles* files = nullptr;
};

// Whether a file of that text can hold a configuration at all: a quick look.
bool may_hold_configuration(std::string_view text);

// Keeps what was read from one file to the next: modules, classes, defaults. Not for several
// threads at once.
class PythonReader {
 public:
  explicit PythonReader(PythonOptions options);
  ~PythonReader();
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  // One Facts for each configuration of the file: `instance` is the function's name, or "script"
  // with the line of the call of pretrain(). Keys are dotted paths of the container; each key's
  // facts stand in the order of its assignments, the last one holds. `SECTION._type` names the
  // class of a section. Findings: PYT100-PYT110 (docs/python.md).
  std::vector<Facts> read(const Source& source, std::vector<Diagnostic>& diagnostics);

  // The recipe that a launcher is given by name, to be laid under the launcher's overrides: looked
  // up in the packages megatron.bridge.recipes and megatron.bridge.perf_recipes of the source roots
  // and of the folders above the file `near`, else in the shipped catalogue (the facts' places are
  // then `where`). Nothing when no such recipe is known.
  std::optional<Facts> recipe(std::string_view name, std::string_view near, const Span& where,
                              std::vector<Diagnostic>& diagnostics);

  // As read(), for a reader that has read other files before: nothing when what the file gives
  // could depend on those, or when it is no module of that text which an import would find. The
  // reader is spent when order_matters() says so.
  std::optional<std::vector<Facts>> read_shared(const std::string& path, std::string_view text,
                                                std::vector<Diagnostic>& diagnostics);
  bool order_matters() const;

  std::size_t files_read() const;
  // Parses the file for whoever reads it later with the same `files`.
  void parse_ahead(const std::string& path);
  // The syntax of a file that was read, with the names in it; null when there is none.
  std::pair<const python::Syntax*, const python::Names*> syntax(const std::string& path) const;

 private:
  std::vector<Facts> read(python::Module& module, std::vector<Diagnostic>& diagnostics);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One file, with a reader of its own.
std::vector<Facts> read_python(const Source& source, const PythonOptions& options,
                               std::vector<Diagnostic>& diagnostics);

}  // namespace shardlint
