#pragma once
// Files of a checkpoint: positioned reads that say when the bytes are not there, shared by threads.

#include <cstdint>
#include <ctime>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::checkpoint {

struct FileInfo {
  std::uint64_t size = 0;
  std::uint64_t allocated = 0;  // bytes that the file system really holds
  std::int64_t modified_ns = 0;
  bool is_directory = false;
};
std::optional<FileInfo> stat_file(const std::string& path);

// A file open for reading. Reading is thread-safe (no position is kept).
class File {
 public:
  explicit File(const std::string& path);  // throws Error
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Fills `out` from `offset`, or throws Error when the file ends before that.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  std::string read_text(std::uint64_t offset, std::size_t length) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Keeps a bounded number of files open: checkpoints of thousands of ranks meet the usual limit of
// 1024 descriptors.
class FilePool {
 public:
  explicit FilePool(std::size_t limit = 128) : limit_(limit) {}
  std::shared_ptr<const File> open(const std::string& path);

 private:
  std::mutex mutex_;
  std::size_t limit_;
  std::list<std::shared_ptr<const File>> recent_;
  std::map<std::string, std::list<std::shared_ptr<const File>>::iterator> by_path_;
};

// A window of a file; every read is checked against it. The unit in which items are opened.
struct Window {
  std::shared_ptr<const File> file;
  std::uint64_t offset = 0, length = 0;
  std::string read(std::uint64_t at, std::uint64_t count) const;  // throws Error when outside
};

// A whole file as text when it is there and not above the limit.
std::optional<std::string> read_small_file(const std::string& path, std::uint64_t limit);

}  // namespace shardlint::checkpoint
