#pragma once
// What `resolve` and `diff` share: which configuration is meant, and how a value and its origin are
// told.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/project.h"
#include "lint/resolve.h"

namespace shardlint {

// The configurations that `what` names: a file, or FILE::INSTANCE for one of several (a function of
// a recipe, "command 2" of a script). Throws Error when there is none of that name.
std::vector<Effective> resolve_named(const std::string& what, Project& project);

// "launch.sh, command 2 (megatron-lm 0.20.0, the newest known)"
std::string title(const Effective& effective);

// Whether a key is like one of the patterns (none: yes). One without a `*` may stand anywhere in
// it.
bool key_wanted(const std::vector<std::string>& patterns, const EffectiveKey& key);

// As it is written in the framework's own files; `unknown` where it is not known.
std::string value_text(const EffectiveKey& key);

// Where the value in force comes from, and what it was before: one line.
std::string origin_text(const EffectiveKey& key);

nlohmann::ordered_json configuration_json(const Effective& effective);  // without its keys
nlohmann::ordered_json key_json(const EffectiveKey& key);

}  // namespace shardlint
