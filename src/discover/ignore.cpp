#include "discover/ignore.h"

#include "base/strings.h"

namespace shardlint {
namespace {

// The set at pattern[0] == '[': whether it has `c`, and where it ends (0: it does not).
std::size_t match_set(std::string_view pattern, char c, bool& inside) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  i += negated;
  bool found = false;
  for (const std::size_t first = i; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) {
      inside = found != negated && c != '/';
      return i + 1;
    }
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  return 0;
}

}  // namespace

// A row of answers, one a position of the path, is carried over the pattern: no backtracking, so
// no pattern is slow.
bool path_glob_match(std::string_view pattern, std::string_view path) {
  std::vector<char> now(path.size() + 1, 0), next;
  now[0] = 1;
  const auto spread = [&](bool slashes, std::size_t from) {
    bool on = false;
    for (std::size_t i = from; i <= path.size(); ++i) {
      on = on || now[i];
      next[i] = on;
      on = on && (slashes || i == path.size() || path[i] != '/');
    }
  };
  while (!pattern.empty()) {
    next.assign(path.size() + 1, 0);
    std::size_t used = 1;
    if (pattern.starts_with("**/")) {  // nothing, or whole folders
      used = 3;
      bool on = false;
      for (std::size_t i = 0; i <= path.size(); ++i) {
        next[i] = now[i] || (on && i > 0 && path[i - 1] == '/');
        on = on || now[i];
      }
    } else if (pattern.starts_with("**")) {
      used = 2;
      spread(true, 0);
    } else if (pattern[0] == '*') {
      spread(false, 0);
    } else {
      const bool escaped = pattern[0] == '\\' && pattern.size() > 1;
      const char literal = escaped ? pattern[1] : pattern[0];
      for (std::size_t i = 0; i < path.size(); ++i) {
        bool hit = escaped || pattern[0] != '?' ? path[i] == literal : path[i] != '/';
        if (!escaped && pattern[0] == '[') {
          bool inside = false;
          if (const std::size_t end = match_set(pattern, path[i], inside)) {
            hit = inside;
            used = end;
          }
        }
        next[i + 1] = now[i] && hit;
      }
      used = escaped ? 2 : used;
    }
    now.swap(next);
    pattern.remove_prefix(used);
  }
  return now[path.size()];
}

IgnoreFile::IgnoreFile(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    while (line.ends_with(' ') && !line.ends_with("\\ ")) {
      line.remove_suffix(1);
    }
    Pattern pattern;
    if (line.empty() || line[0] == '#') {
      continue;
    }
    if (line[0] == '!') {
      pattern.negated = true;
      line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
      pattern.directories_only = true;
      line.remove_suffix(1);
    }
    pattern.anchored = line.find('/') != std::string_view::npos;
    if (line.starts_with('/')) {
      line.remove_prefix(1);
    }
    pattern.glob = std::string(line);
    patterns_.push_back(std::move(pattern));
  }
}

IgnoreFile::Verdict IgnoreFile::verdict(std::string_view path, bool directory) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if ((directory || !pattern->directories_only) &&
        path_glob_match(pattern->glob, pattern->anchored ? path : name)) {
      return pattern->negated ? Verdict::kept : Verdict::ignored;
    }
  }
  return Verdict::none;
}

}  // namespace shardlint
