#pragma once
// The keys of the settings, and reading them from a TOML table.

#include <span>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "discover/settings.h"

namespace shardlint {

struct SettingsKey {
  std::string_view name;
  void (*read)(const toml::node& node, Settings& settings);
};

std::span<const SettingsKey> settings_keys();

// "file:line:column", for messages.
std::string place_of(const toml::node& node, std::string_view file);

// The table's keys into `settings`. Throws Error.
void read_table(const toml::table& table, std::string_view file, Settings& settings);

}  // namespace shardlint
