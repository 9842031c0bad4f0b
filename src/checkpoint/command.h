#pragma once
// shardlint checkpoint inspect | check | diff

#include <span>
#include <string>

namespace shardlint {

// `args` begin after the word "checkpoint". Returns the exit code: 0 clean or equal, 1 findings or
// differences, 2 could not do it; 3 when the only error is that a save never finished.
int checkpoint_command(std::span<const std::string> args);

}  // namespace shardlint
