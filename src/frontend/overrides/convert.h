#pragma once
// Words to values as Python's own conversions do it: int(), float(), bool() and the pattern
// functions that Megatron-LM hands to argparse.

#include <optional>
#include <string>
#include <string_view>

#include "schema/schema.h"

namespace shardlint {

// int(text): blanks around it, a sign, underscores between digits. Beyond 64 bits: unknown.
std::optional<Value> python_integer(std::string_view text);
// float(text): as above, exponents, inf, infinity, nan. No hexadecimal.
std::optional<Value> python_real(std::string_view text);
// N, or a list expression of integers with + and *: ([1]*3+[0]*1)*3. At most 100,000 items.
std::optional<Value> list_pattern(std::string_view text);
// 1,2,3 or (1,2,3)
std::optional<Value> integer_tuple(std::string_view text);

// What an option makes of one word; nothing when upstream refuses the word.
std::optional<Value> convert_word(const Option& option, std::string_view text);
// What upstream expected, for a message: "an integer".
std::string_view expected_of(Convert convert);

}  // namespace shardlint
