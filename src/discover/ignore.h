#pragma once
// .gitignore: which paths a repository's owner does not count as content.

#include <string>
#include <string_view>
#include <vector>

namespace shardlint {

// The patterns of one .gitignore, for paths relative to its folder.
class IgnoreFile {
 public:
  explicit IgnoreFile(std::string_view text);
  // The last pattern that matches decides; none: neither.
  enum class Verdict { none, ignored, kept };
  Verdict verdict(std::string_view path, bool directory) const;

 private:
  struct Pattern {
    std::string glob;
    bool negated = false, directories_only = false, anchored = false;
  };
  std::vector<Pattern> patterns_;
};

// git's globs: * and ? stop at a slash, ** does not, [a-z] and [!a-z] are sets, \ takes the next
// character as it is.
bool path_glob_match(std::string_view pattern, std::string_view path);

}  // namespace shardlint
