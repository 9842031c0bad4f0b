#pragma once
// Changes to a launch as edits of the script that it was read from. Comments, quotes and layout
// stay as they are; an empty answer means that the change cannot be made without guessing.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/shell/launcher.h"

namespace shardlint::shell {

using Edits = std::vector<Edit>;

// Replaces the value of `--flag value` or `--flag=value`, the last one that is given, or adds
// `--flag value` beside its nearest relative. Without a value: a switch.
Edits set_flag(const Launch& launch, std::string_view flag, std::optional<std::string> value);
// A flag with several words behind it (`nargs`): all of them are replaced, one by one where there
// are as many as before.
Edits set_values(const Launch& launch, std::string_view flag,
                 const std::vector<std::string>& values);
Edits remove_flag(const Launch& launch, std::string_view flag);

// `key` as the script has it or is to have it, a leading + or ++ included.
Edits set_override(const Launch& launch, std::string_view key, std::string_view value);
Edits remove_override(const Launch& launch, std::string_view key);

// Changes an assignment in force for the launch, or exports the variable before it.
Edits set_environment(const Launch& launch, std::string_view name, std::string_view value);
Edits remove_environment(const Launch& launch, std::string_view name);

}  // namespace shardlint::shell
