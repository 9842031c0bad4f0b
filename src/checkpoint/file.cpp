#include "checkpoint/file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace shardlint::checkpoint {

std::optional<FileInfo> stat_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return FileInfo{
      static_cast<std::uint64_t>(status.st_size),
      static_cast<std::uint64_t>(status.st_blocks) * 512,
      static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec,
      S_ISDIR(status.st_mode)};
}

File::File(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
    throw Error("cannot open " + path + ": " + std::strerror(reason));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Error("cannot open " + path + ": not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

File::~File() {
  ::close(descriptor_);
}

void File::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw Error("cannot read " + path_ + ": " + std::strerror(errno));
    }
    if (got == 0) {
      throw Error(path_ + " ends at byte " + std::to_string(offset) + ", " +
                  std::to_string(out.size()) + " bytes before it should");
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::string File::read_text(std::uint64_t offset, std::size_t length) const {
  std::string text(length, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::shared_ptr<const File> FilePool::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front();
  }
  recent_.push_front(std::make_shared<const File>(path));
  by_path_[path] = recent_.begin();
  if (recent_.size() > limit_) {
    by_path_.erase(recent_.back()->path());
    recent_.pop_back();  // whoever still reads it keeps it open
  }
  return recent_.front();
}

std::string Window::read(std::uint64_t at, std::uint64_t count) const {
  if (at > length || count > length - at) {
    throw Error("bytes " + std::to_string(at) + " to " + std::to_string(at + count) +
                " lie outside the " + std::to_string(length) + " bytes of this item");
  }
  return file->read_text(offset + at, count);
}

std::optional<std::string> read_small_file(const std::string& path, std::uint64_t limit) {
  const std::optional<FileInfo> status = stat_file(path);
  if (!status || status->is_directory || status->size > limit) {
    return std::nullopt;
  }
  try {
    const File file(path);
    return file.size() > limit ? std::nullopt : std::optional(file.read_text(0, file.size()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace shardlint::checkpoint
