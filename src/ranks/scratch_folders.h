#pragma once
// Folders that this process must not leave behind, whatever ends it.

#include <string>

namespace shardlint::ranks {

void own_folder(const std::string& path);     // and every path.partial-*
void disown_folder(const std::string& path);  // it is the user's now
void remove_owned_folders() noexcept;

}  // namespace shardlint::ranks
