#pragma once
// shardlint checkpoint inspect | check | diff

#include <span>
#include <string>

namespace shardlint {

// `args` begin after the word "checkpoint". Returns the exit code: 0 clean or equal, 1 findings or
// differences, 2 could not do it (told on stderr).
int checkpoint_command(std::span<const std::string> args);

}  // namespace shardlint
