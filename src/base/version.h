#pragma once
// Versions and version ranges, ordered as PEP 440 orders them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint {

// [epoch!]release[{a|b|rc}N][.postN][.devN][+local]; a leading v and separators before the
// suffixes are accepted as PEP 440 normalises them.
struct Version {
  static std::optional<Version> parse(std::string_view text);
  std::string text;
  std::vector<std::int64_t> key;  // compares as the version does
  bool operator==(const Version& other) const { return key == other.key; }
  auto operator<=>(const Version& other) const { return key <=> other.key; }
};

// ">=0.15,<0.18" and the like: comma-separated comparisons with >=, >, <=, <, ==, !=; empty = all.
struct VersionRange {
  static std::optional<VersionRange> parse(std::string_view text);
  bool contains(const Version& version) const;
  std::string text;
  struct Bound {
    enum class Op { ge, gt, le, lt, eq, ne } op;
    Version version;
  };
  std::vector<Bound> bounds;
};

// A package's normal name: letters small, runs of -, _ and . one dash ("Transformer_Engine" is
// transformer-engine).
std::string package_name(std::string_view name);

}  // namespace shardlint
