#pragma once
// The versions of the frameworks that a project pins: uv.lock, poetry.lock, requirements*.txt,
// pyproject.toml. Looked for from a configuration's folder up to the root of its repository, in its
// own folder alone where there is no repository; the closest file that pins a framework decides.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace shardlint {

struct Pin {
  std::string framework, version;  // megatron-lm, 0.17.0: Megatron-LM is known by Megatron-Core's
  std::string place;               // "uv.lock:12"
};

struct Pins {
  std::vector<Pin> pins;           // one a framework at most
  std::vector<std::string> notes;  // "FILE:LINE: what was there and is left out"
};

// The pins of one file, by its name; `path` stands in places. Several versions of one framework
// decide nothing. What cannot be read is left out with a note.
Pins read_pins(const std::string& path, std::string_view text);

// Each folder is looked at once. Thread-confined.
class PinFinder {
 public:
  explicit PinFinder(const Disk& disk) : disk_(disk) {}
  const Pins& find(const std::string& path);  // of a file that need not be there

 private:
  const Pins& of_folder(const std::string& folder);
  Pins look(const std::string& folder) const;
  bool in_repository(const std::string& folder);

  const Disk& disk_;
  std::map<std::string, Pins> folders_;
  std::map<std::string, bool> repositories_;
};

}  // namespace shardlint
