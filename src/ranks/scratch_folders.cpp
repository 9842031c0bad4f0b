#include "ranks/scratch_folders.h"

#include <filesystem>
#include <mutex>
#include <set>

namespace shardlint::ranks {

namespace {

std::mutex mutex;
std::set<std::string> owned;

}  // namespace

void own_folder(const std::string& path) {
  const std::lock_guard lock(mutex);
  owned.insert(path);
}

void disown_folder(const std::string& path) {
  const std::lock_guard lock(mutex);
  owned.erase(path);
}

void remove_owned_folders() noexcept {
  const std::lock_guard lock(mutex);
  std::error_code ignored;
  try {
    for (const std::string& path : owned) {
      std::filesystem::remove_all(path, ignored);
      const std::filesystem::path whole(path);
      const std::string prefix = whole.filename().string() + ".partial-";
      for (const auto& entry : std::filesystem::directory_iterator(whole.parent_path(), ignored)) {
        if (entry.path().filename().string().starts_with(prefix)) {
          std::filesystem::remove_all(entry.path(), ignored);
        }
      }
    }
  } catch (...) {  // out of memory while leaving: nothing more to do
  }
  owned.clear();
}

}  // namespace shardlint::ranks
