#pragma once
// Python's literals: numbers and strings as written, and how Python writes a number back.

#include <optional>
#include <string>
#include <string_view>

#include "facts/value.h"

namespace shardlint::python {

// 1_000, 0x10, 0o7, 0b1; nothing when it does not fit 64 bits.
std::optional<Value> integer_literal(std::string_view text);
std::optional<Value> float_literal(std::string_view text);  // nothing for imaginary numbers

// The value of the characters between the quotes; `raw` leaves backslashes alone. Nothing for \N{}.
std::optional<std::string> unescape(std::string_view content, bool raw);

std::string float_repr(double value);            // as repr() does: 1e-05, 0.1, 3.0, inf
std::string string_repr(std::string_view text);  // as repr() does, for printable text

}  // namespace shardlint::python
