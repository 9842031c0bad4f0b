#pragma once
// Hydra's defaults lists: from a root file and the choices of groups to one tree.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/overrides/hydra_tree.h"
#include "schema/schema.h"

namespace shardlint {

// Files of a configuration tree by path without .yaml; null when there is none.
using FindTreeFile = std::function<const TreeFile*(std::string_view path)>;

// Gives the values of a file's body the places where they are written; files that are built in have
// none.
using PlaceTreeFile = std::function<void(const TreeFile& file, HydraNode& body)>;

// group or group@package -> the option, or null for none (~group).
struct GroupChoices {
  std::map<std::string, Value> chosen;
  std::vector<std::pair<std::string, std::string>> appended;  // +group[@package]=option
};

struct Composed {
  HydraNode tree;
  std::map<std::string, std::string> used;  // group[@package] -> option, all of them
  std::vector<std::string> unused;          // choices that no defaults list mentions
  struct Missing {
    std::string file;    // that does not exist
    std::string choice;  // the group[@package] that asked for it, or empty
  };
  std::vector<Missing> missing;
  std::vector<std::string> files;  // in the order merged
};

Composed compose_tree(std::string_view root, const GroupChoices& choices, const FindTreeFile& find,
                      const PlaceTreeFile& place = {});

// The key under which Hydra lists a group: without a package that is the group's own.
std::string group_key(std::string_view group, std::string_view package);

}  // namespace shardlint
