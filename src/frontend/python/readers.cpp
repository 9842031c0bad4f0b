#include "frontend/python/readers.h"

#include "base/strings.h"
#include "frontend/python/modules.h"

namespace shardlint {
namespace {

// A reader that has followed so many files makes room for another.
constexpr std::size_t max_files = 1200;
constexpr std::size_t max_shelves = 16;

const Disk& disk_of(const PythonOptions& options) {
  static const RealDisk real;
  return options.disk ? *options.disk : real;
}

std::string roots_of(const PythonOptions& options, const std::string& path) {
  return join(python::roots_above(disk_of(options), normal_path(path)), "\n");
}

}  // namespace

struct PythonReaders::Shelf {
  Sources sources;
  PythonReader reader;

  explicit Shelf(PythonOptions options) : reader(with(std::move(options), sources)) {}
  static PythonOptions with(PythonOptions options, Sources& sources) {
    options.sources = &sources;
    return options;
  }
};

std::shared_ptr<PythonReaders::Shelf> PythonReaders::fresh() const {
  return std::make_shared<Shelf>(options_);
}

std::shared_ptr<PythonReaders::Shelf> PythonReaders::shelf_for(const std::string& roots) {
  if (shelves_.size() >= max_shelves && shelves_.count(roots) == 0) {
    shelves_.clear();
  }
  std::shared_ptr<Shelf>& shelf = shelves_[roots];
  if (!shelf || shelf->reader.order_matters() || shelf->reader.files_read() > max_files) {
    shelf = fresh();
  }
  return shelf;
}

PythonReaders::Reading PythonReaders::reading(std::vector<Facts> configurations,
                                              const std::string& path,
                                              const std::shared_ptr<Shelf>& shelf) {
  Reading out{std::move(configurations), nullptr, nullptr, {shelf, &shelf->sources}};
  const auto [syntax, names] = shelf->reader.syntax(path);
  if (syntax) {
    out.source = &syntax->source();
    out.editable = std::make_shared<python::Editable>(*syntax, *names);
  }
  return out;
}

PythonReaders::Reading PythonReaders::read(const std::string& path, std::string text,
                                           std::vector<Diagnostic>& diagnostics) {
  if (path == normal_path(path)) {  // else findings would name it as it is imported
    std::shared_ptr<Shelf> shelf = shelf_for(roots_of(options_, path));
    if (auto all = shelf->reader.read_shared(path, text, diagnostics)) {
      return reading(std::move(*all), path, shelf);
    }
  }
  std::shared_ptr<Shelf> own = fresh();
  const Source& source = own->sources.add(path, std::move(text));
  return reading(own->reader.read(source, diagnostics), path, own);
}

void PythonReaders::parse_ahead(const std::string& path) {
  if (!ahead_) {
    ahead_ = fresh();
  }
  ahead_->reader.parse_ahead(path);
}

PythonReaders::Reading PythonReaders::recipe(std::string_view name, const std::string& near,
                                             const Span& where,
                                             std::vector<Diagnostic>& diagnostics) {
  std::shared_ptr<Shelf> shelf = shelf_for(roots_of(options_, near));
  std::vector<Diagnostic> found;
  std::optional<Facts> facts = shelf->reader.recipe(name, near, where, found);
  if (shelf->reader.order_matters()) {
    shelf = fresh();
    found.clear();
    facts = shelf->reader.recipe(name, near, where, found);
  }
  diagnostics.insert(diagnostics.end(), found.begin(), found.end());
  Reading reading{{}, nullptr, nullptr, {shelf, &shelf->sources}};
  if (facts) {
    reading.configurations.push_back(std::move(*facts));
  }
  return reading;
}

}  // namespace shardlint
