#pragma once
// Which framework's program a launch starts, told by its name and, failing that, by its words.

#include <string>
#include <string_view>

namespace shardlint::shell {

struct Launch;

// megatron-lm | megatron-bridge | verl, or empty.
std::string framework_of(const Launch& launch);

// False for tools that train nothing (converters, pip, one-line helpers).
bool is_training(std::string_view program, bool module);

}  // namespace shardlint::shell
