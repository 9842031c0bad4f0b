#include "discover/pins.h"

#include <algorithm>
#include <filesystem>

#include "discover/settings.h"

namespace shardlint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_file = 32 << 20;  // lock files of large projects have a few MiB

bool is_requirements(std::string_view name) {
  return name.starts_with("requirements") && name.ends_with(".txt");
}

// In the order in which they are believed: what was installed, then what was asked for.
std::vector<std::string> candidates(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  const auto take = [&](const auto& wanted) {
    std::copy_if(names.begin(), names.end(), std::back_inserter(out), wanted);
  };
  take([](const std::string& name) { return name == "uv.lock"; });
  take([](const std::string& name) { return name == "poetry.lock"; });
  take([](const std::string& name) { return name == "requirements.txt"; });
  take([](const std::string& name) { return is_requirements(name) && name != "requirements.txt"; });
  take([](const std::string& name) { return name == "pyproject.toml"; });
  return out;
}

// Pins of frameworks that nothing closer pins.
void add_missing(Pins& into, const Pins& more) {
  for (const Pin& pin : more.pins) {
    if (std::none_of(into.pins.begin(), into.pins.end(),
                     [&](const Pin& have) { return have.framework == pin.framework; })) {
      into.pins.push_back(pin);
    }
  }
  into.notes.insert(into.notes.end(), more.notes.begin(), more.notes.end());
}

}  // namespace

const Pins& PinFinder::find(const std::string& path) {
  return of_folder(parent_path(fs::absolute(path).lexically_normal().string()));
}

const Pins& PinFinder::of_folder(const std::string& folder) {
  if (const auto known = folders_.find(folder); known != folders_.end()) {
    return known->second;
  }
  Pins out = look(folder);
  const std::string git = join_path(folder, ".git");  // a file in work trees and submodules
  const bool is_root = disk_.is_directory(git) || disk_.is_file(git);
  const std::string parent = parent_path(folder);
  if (!is_root && parent != folder && in_repository(folder)) {
    add_missing(out, of_folder(parent));
  }
  return folders_[folder] = std::move(out);
}

bool PinFinder::in_repository(const std::string& folder) {
  if (const auto known = repositories_.find(folder); known != repositories_.end()) {
    return known->second;
  }
  const std::string git = join_path(folder, ".git"), parent = parent_path(folder);
  const bool is = disk_.is_directory(git) || disk_.is_file(git) ||
                  (parent != folder && parent != "." && in_repository(parent));
  return repositories_[folder] = is;
}

Pins PinFinder::look(const std::string& folder) const {
  Pins out;
  for (const std::string& name : candidates(disk_.list(folder))) {
    const std::string path = join_path(folder, name);
    const std::optional<std::uint64_t> size = disk_.size(path);
    if (!disk_.is_file(path) || !size) {
      continue;
    }
    if (*size > longest_file) {
      out.notes.push_back(path_from_here(path) + ": too long, its versions are left out");
    } else if (const std::optional<std::string> text = disk_.read(path)) {
      add_missing(out, read_pins(path_from_here(path), *text));
    } else {
      out.notes.push_back(path_from_here(path) + ": cannot be read, its versions are left out");
    }
  }
  return out;
}

}  // namespace shardlint
