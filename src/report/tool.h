#pragma once
// Who made a report: the program, its commit, and the upstream snapshots that its catalogues show.

#include <span>
#include <string_view>

namespace shardlint {

struct Snapshot {
  std::string_view framework, repository, commit, version;
};

struct Tool {
  std::string_view name, version, commit, date, rule_pack;
  std::span<const Snapshot> catalogs;
};

const Tool& this_tool();

}  // namespace shardlint
