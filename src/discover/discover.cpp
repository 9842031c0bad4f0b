#include "discover/discover.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "discover/ignore.h"

namespace shardlint {
namespace {

constexpr int max_depth = 64;

std::optional<FileKind> kind_by_name(std::string_view name) {
  const std::string small = lower(name);
  const std::size_t dot = small.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : small.substr(dot + 1);
  if (ending == "yaml" || ending == "yml") {
    return FileKind::yaml;
  }
  if (ending == "py") {
    return FileKind::python;
  }
  for (const std::string_view shell : {"sh", "bash", "sbatch", "slurm", "sub", "ksh", "zsh"}) {
    if (ending == shell) {
      return FileKind::shell;
    }
  }
  return std::nullopt;
}

std::optional<FileKind> kind_by_first_line(std::string_view text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), std::size_t{200}));
  if (!line.starts_with("#!")) {
    return std::nullopt;
  }
  if (line.find("python") != std::string_view::npos) {
    return FileKind::python;
  }
  const bool shell = line.find("sh") != std::string_view::npos;
  return shell ? std::optional(FileKind::shell) : std::nullopt;
}

bool skipped_folder(std::string_view name) {
  static constexpr std::string_view patterns[] = {
      "build", "build-*", "dist", "node_modules", "venv", "site-packages", "*.egg-info", "target"};
  return name.starts_with("__pycache__") ||
         std::any_of(std::begin(patterns), std::end(patterns),
                     [&](std::string_view pattern) { return glob_match(pattern, name); });
}

// A .gitignore and the folder it lies in.
struct Level {
  std::string folder;
  IgnoreFile file;
};

class Walk {
 public:
  Walk(const Disk& disk, Discovery& out) : disk_(disk), out_(out) {}

  void start(const std::string& folder) {
    read_above(folder);
    enter(folder, 0);
  }

 private:
  // Those of the folders above, up to the one with .git; without one the folder stands alone.
  void read_above(const std::string& folder) {
    std::vector<std::string> above;
    std::string at = folder;
    for (int i = 0; i < max_depth; ++i) {
      const std::string git = join_path(at, ".git");
      if (disk_.is_directory(git) || disk_.is_file(git)) {
        for (auto it = above.rbegin(); it != above.rend(); ++it) {
          read_ignore(*it);
        }
        return;
      }
      const bool relative_top = at == "." || at == ".." || at.ends_with("/..");
      const std::string parent = relative_top ? join_path(at, "..") : parent_path(at);
      if (normal_path(parent) == normal_path(at)) {
        return;
      }
      at = normal_path(parent);
      above.push_back(at);
    }
  }

  bool read_ignore(const std::string& folder) {
    const auto text = disk_.read(join_path(folder, ".gitignore"));
    if (text) {
      levels_.push_back({folder, IgnoreFile(*text)});
    }
    return text.has_value();
  }

  void enter(const std::string& folder, int depth) {
    const bool pushed = read_ignore(folder);
    for (const std::string& name : disk_.list(folder)) {
      const std::string path = folder == "." ? name : join_path(folder, name);
      if (name.starts_with('.')) {
        continue;
      }
      if (disk_.is_directory(path)) {
        if (depth < max_depth && !skipped_folder(name) && !disk_.is_link(path) &&
            !ignored(path, true)) {
          enter(path, depth + 1);
        }
      } else if (!ignored(path, false)) {
        take(path, name);
      }
    }
    if (pushed) {
      levels_.pop_back();
    }
  }

  void take(const std::string& path, const std::string& name) {
    auto kind = kind_by_name(name);
    if (!kind && name.find('.') == std::string::npos) {
      const auto size = disk_.size(path);
      if (size && *size < 1u << 20) {
        kind = kind_by_first_line(disk_.read(path).value_or(""));
      }
    }
    if (kind) {
      out_.files.push_back({path, *kind, false});
    }
  }

  // The nearest file that says something decides.
  bool ignored(const std::string& path, bool directory) const {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      const std::string relative = below(path, level->folder);
      const auto verdict = level->file.verdict(relative, directory);
      if (verdict != IgnoreFile::Verdict::none) {
        return verdict == IgnoreFile::Verdict::ignored;
      }
    }
    return false;
  }

  // `path` as seen from `folder`, which is above it. From .. and ../.. the way down is not in the
  // relative path, so patterns with a slash there see only its lower part.
  static std::string below(const std::string& path, const std::string& folder) {
    if (folder == ".") {
      return path;
    }
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
  }

  const Disk& disk_;
  Discovery& out_;
  std::vector<Level> levels_;
};

}  // namespace

FileKind kind_of(std::string_view name, std::string_view text) {
  if (const auto kind = kind_by_name(name)) {
    return *kind;
  }
  if (const auto kind = kind_by_first_line(text)) {
    return *kind;
  }
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("def ") || line.starts_with("import ") || line.starts_with("from ")) {
      return FileKind::python;
    }
    if (line.starts_with("torchrun ") || line.starts_with("export ") ||
        line.starts_with("#SBATCH ") || line.starts_with("srun ")) {
      return FileKind::shell;
    }
  }
  return FileKind::yaml;
}

Discovery discover(std::span<const std::string> paths, const Disk& disk) {
  Discovery out;
  for (const std::string& given : paths) {
    const std::string path = normal_path(given);
    if (disk.is_directory(path)) {
      Walk(disk, out).start(path);
    } else if (!disk.is_file(path)) {
      out.failures.push_back({given, "no such file or directory"});
    } else if (const auto kind = kind_by_name(path)) {
      out.files.push_back({path, *kind, true});
    } else if (const auto text = disk.read(path)) {
      out.files.push_back({path, kind_of(path, *text), true});
    } else {
      out.failures.push_back({given, "cannot be read"});
    }
  }
  std::stable_sort(out.files.begin(), out.files.end(), [](const FoundFile& a, const FoundFile& b) {
    return a.path != b.path ? a.path < b.path : a.named > b.named;
  });
  const auto same = [](const FoundFile& a, const FoundFile& b) { return a.path == b.path; };
  out.files.erase(std::unique(out.files.begin(), out.files.end(), same), out.files.end());
  return out;
}

}  // namespace shardlint
