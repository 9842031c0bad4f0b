#pragma once
// The file system behind one small interface, so that tests run on a disk in memory and the
// language server can lay unsaved text over the real one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint {

class Disk {
 public:
  virtual ~Disk() = default;
  // The whole file, or nothing when it cannot be read. Files above `max_bytes` are not read:
  // `size` tells them apart from missing ones.
  virtual std::optional<std::string> read(const std::string& path) const = 0;
  virtual bool is_file(const std::string& path) const = 0;
  virtual bool is_directory(const std::string& path) const = 0;
  // Names (not paths) of the entries of a directory, sorted; empty when it cannot be read.
  virtual std::vector<std::string> list(const std::string& path) const = 0;
  virtual std::optional<std::uint64_t> size(const std::string& path) const = 0;
  // A symbolic link: a walk does not go through those.
  virtual bool is_link(const std::string&) const { return false; }
};

class RealDisk final : public Disk {
 public:
  std::optional<std::string> read(const std::string& path) const override;
  bool is_file(const std::string& path) const override;
  bool is_directory(const std::string& path) const override;
  std::vector<std::string> list(const std::string& path) const override;
  std::optional<std::uint64_t> size(const std::string& path) const override;
  bool is_link(const std::string& path) const override;
};

// Files by normalised path. `below` (may be null) answers for what is not here.
class MemoryDisk final : public Disk {
 public:
  explicit MemoryDisk(const Disk* below = nullptr) : below_(below) {}
  void write(const std::string& path, std::string text);
  std::optional<std::string> read(const std::string& path) const override;
  bool is_file(const std::string& path) const override;
  bool is_directory(const std::string& path) const override;
  std::vector<std::string> list(const std::string& path) const override;
  std::optional<std::uint64_t> size(const std::string& path) const override;

  bool is_link(const std::string& path) const override;

 private:
  std::map<std::string, std::string> files_;
  const Disk* below_;
};

// Replaces a file in one step: temporary file beside it, fsync, permissions of the old file kept,
// rename. Throws Error.
void write_atomically(const std::string& path, std::string_view text);

// Lexical path arithmetic; nothing is looked up on disk.
std::string normal_path(std::string_view path);                         // "a//b/../c" -> "a/c"
std::string join_path(std::string_view folder, std::string_view name);  // absolute name wins
std::string parent_path(std::string_view path);                         // "." for a bare name
std::string file_name(std::string_view path);

// The first file or directory of that relative path in `folder` or, up to eight levels, above it.
std::optional<std::string> find_upwards(const Disk& disk, std::string folder,
                                        std::string_view path);

}  // namespace shardlint
