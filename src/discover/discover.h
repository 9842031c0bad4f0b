#pragma once
// Which files are looked at, and which front end reads each.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace shardlint {

enum class FileKind { yaml, shell, python };

struct FoundFile {
  std::string path;
  FileKind kind = FileKind::yaml;
  bool named = false;  // by the user, not met on a walk
};

struct Discovery {
  std::vector<FoundFile> files;  // sorted by path, each once
  struct Failure {
    std::string path, message;
  };
  std::vector<Failure> failures;
};

// Files that are named are taken whatever they are called or ignored by. Directories are walked:
// hidden entries, build and package folders, links to folders and what .gitignore lists (up to the
// root of the repository) are left out.
Discovery discover(std::span<const std::string> paths, const Disk& disk);

// By the name's ending, else by the text: its #! line, flags or keys. For unsaved text and stdin.
FileKind kind_of(std::string_view name, std::string_view text);

}  // namespace shardlint
