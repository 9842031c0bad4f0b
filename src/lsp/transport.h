#pragma once
// Messages on a pipe, framed as the Language Server Protocol does: a header of lines, an empty
// line, then Content-Length bytes.

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace shardlint::lsp {

constexpr std::size_t max_message_bytes = 64U << 20U;

// The next message's bytes; nothing at the end of the input. Throws Error on a header that is none,
// or a length above the limit: what follows cannot be found then.
std::optional<std::string> read_message(std::FILE* in);

void write_message(std::FILE* out, std::string_view content);

}  // namespace shardlint::lsp
