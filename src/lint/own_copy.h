#pragma once
// A copy of the framework that lies beside a file: forks keep theirs in the same repository, and
// their scripts run that one, not the release that the catalogue describes.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/files.h"
#include "frontend/overrides/hydra_compose.h"
#include "frontend/yaml/document.h"
#include "shardlint/lint.h"
#include "source/source.h"

namespace shardlint {

// A tree of Hydra files on disk; what is not there is remembered too.
class DiskTree {
 public:
  struct File {
    std::string path, package;
    yaml::Document document;
    TreeFile tree;
  };
  // Sources are added to `sources`; it and `disk` outlive the tree. The first folder that has a
  // file wins.
  DiskTree(Sources& sources, const Disk& disk) : sources_(&sources), disk_(&disk) {}
  void add_folder(std::string folder) { folders_.push_back(std::move(folder)); }
  bool empty() const { return folders_.empty(); }
  const TreeFile* find(std::string_view path);
  const File* file(const TreeFile& tree) const;  // that it is the tree of; null: no such one

 private:
  std::vector<std::string> folders_;
  Sources* sources_;
  const Disk* disk_;
  std::map<std::string, std::unique_ptr<File>, std::less<>> files_;
};

class OwnCopy {
 public:
  OwnCopy(std::string_view framework, std::string folder, const Disk& disk);
  const std::string& folder() const { return folder_; }    // in which the package lies
  const std::string& version() const { return version_; }  // as it says; empty: it does not
  // Whether the catalogue was made from that version, so that the rules speak of it.
  bool measured() const { return measured_; }
  // Whether its source has a flag (`--x`), a field for it, or the text as a whole literal.
  bool declares(std::string_view name) const;
  // Whether its class of that name declares the field itself.
  bool has_field(std::string_view class_name, std::string_view field) const;
  DiskTree& tree() const;  // verl's

 private:
  void read_sources() const;
  std::string framework_, folder_, version_;
  const Disk* disk_;
  bool measured_ = false;
  mutable std::optional<std::set<std::string, std::less<>>> words_;
  mutable std::set<std::string, std::less<>> fields_;  // Class.field
  mutable std::unique_ptr<Sources> sources_;
  mutable std::unique_ptr<DiskTree> tree_;
};

struct CopyLayout;

// The copies beside the files that one thread reads.
class OwnCopies {
 public:
  explicit OwnCopies(const Disk& disk) : disk_(&disk) {}
  // Looked for in the file's folder and those above it; null when there is none.
  const OwnCopy* beside(std::string_view framework, const std::string& file);

 private:
  const OwnCopy* around(const CopyLayout& layout, const std::string& parent);

  const Disk* disk_;
  std::map<std::pair<std::string, std::string>, const OwnCopy*> by_parent_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<OwnCopy>> copies_;
};

// The version that a file is judged by, and why.
struct OwnTarget {
  std::string version;            // empty: the newest
  const OwnCopy* copy = nullptr;  // that said so
  // Why findings about the framework are not certain, or empty.
  std::string doubt() const;
};
OwnTarget own_target(const Options& options, OwnCopies& copies, std::string_view framework,
                     const std::string& file);

// An error that hangs on the framework's source is a suspicion where that source is not known.
void doubt(Diagnostic& finding, const std::string& why);

}  // namespace shardlint
