#include "base/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace shardlint {
namespace fs = std::filesystem;

std::optional<std::string> RealDisk::read(const std::string& path) const {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return {};
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return {};
  }
  std::string text;
  if (const auto bytes = fs::file_size(path, error); !error) {
    text.reserve(static_cast<std::size_t>(bytes));
  }
  char chunk[1 << 16];
  while (in.read(chunk, sizeof chunk) || in.gcount() > 0) {
    text.append(chunk, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) {
    return {};
  }
  return text;
}

bool RealDisk::is_file(const std::string& path) const {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool RealDisk::is_directory(const std::string& path) const {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool RealDisk::is_link(const std::string& path) const {
  std::error_code error;
  return fs::is_symlink(path, error);
}

std::vector<std::string> RealDisk::list(const std::string& path) const {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.insert(it->path().filename().string());
  }
  return {names.begin(), names.end()};
}

std::optional<std::uint64_t> RealDisk::size(const std::string& path) const {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? std::optional<std::uint64_t>() : bytes;
}

void MemoryDisk::write(const std::string& path, std::string text) {
  files_[normal_path(path)] = std::move(text);
}

std::optional<std::string> MemoryDisk::read(const std::string& path) const {
  if (const auto it = files_.find(normal_path(path)); it != files_.end()) {
    return it->second;
  }
  return below_ ? below_->read(path) : std::nullopt;
}

bool MemoryDisk::is_file(const std::string& path) const {
  return files_.count(normal_path(path)) > 0 || (below_ && below_->is_file(path));
}

bool MemoryDisk::is_directory(const std::string& path) const {
  const std::string prefix = normal_path(path) + "/";
  const auto it = files_.lower_bound(prefix);
  return (it != files_.end() && it->first.starts_with(prefix)) ||
         (below_ && below_->is_directory(path));
}

bool MemoryDisk::is_link(const std::string& path) const {
  return below_ && files_.count(normal_path(path)) == 0 && below_->is_link(path);
}

std::vector<std::string> MemoryDisk::list(const std::string& path) const {
  std::set<std::string> names;
  const std::string folder = normal_path(path);
  const std::string prefix = folder == "." ? "" : folder + "/";
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix);
       ++it) {
    const std::string rest = it->first.substr(prefix.size());
    names.insert(rest.substr(0, rest.find('/')));
  }
  if (below_) {
    for (const std::string& name : below_->list(path)) {
      names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::optional<std::uint64_t> MemoryDisk::size(const std::string& path) const {
  if (const auto it = files_.find(normal_path(path)); it != files_.end()) {
    return it->second.size();
  }
  return below_ ? below_->size(path) : std::nullopt;
}

void write_atomically(const std::string& path, std::string_view text) {
  const auto fail = [&](const char* what) {
    throw Error("cannot write " + path + ": " + what + ": " + std::strerror(errno));
  };
  struct stat old {};
  const mode_t mode = ::stat(path.c_str(), &old) == 0 ? old.st_mode & 07777 : 0644;
  std::string temporary = path + ".shardlint-XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) {
    fail("no temporary file beside it");
  }
  bool ok = ::fchmod(fd, mode) == 0;
  for (std::size_t done = 0; ok && done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    ok = n > 0 || (n < 0 && errno == EINTR);
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  ok = ok && ::fsync(fd) == 0;
  ok = ::close(fd) == 0 && ok;
  if (!ok || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int saved = errno;
    ::unlink(temporary.c_str());
    errno = saved;
    fail("the new content could not be put in place");
  }
}

std::string normal_path(std::string_view path) {
  std::string text = fs::path(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') {
    text.pop_back();
  }
  return text.empty() ? "." : text;
}

std::string join_path(std::string_view folder, std::string_view name) {
  return normal_path((fs::path(folder) / fs::path(name)).string());
}

std::string parent_path(std::string_view path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string file_name(std::string_view path) {
  return fs::path(path).filename().string();
}

std::optional<std::string> find_upwards(const Disk& disk, std::string folder,
                                        std::string_view path) {
  constexpr int levels = 8;
  for (int level = 0; level < levels; ++level) {
    const std::string there = normal_path(join_path(folder, path));
    if (disk.is_file(there) || disk.is_directory(there)) {
      return there;
    }
    const std::string above = parent_path(folder);
    if (folder == "." || folder == "/" || above == folder) {
      break;
    }
    folder = above;
  }
  return std::nullopt;
}

}  // namespace shardlint
