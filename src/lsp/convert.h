#pragma once
// Between our places and the protocol's: lines from 0, characters in UTF-16 code units unless the
// client takes bytes; files as URIs.

#include <cstdint>
#include <string>
#include <string_view>

#include "source/source.h"

namespace shardlint::lsp {

enum class Encoding { utf8, utf16 };

struct LinePosition {
  std::uint32_t line = 0, character = 0;  // both from 0
};

LinePosition to_line_position(const Source& source, std::uint32_t offset, Encoding encoding);
// Positions past a line's end answer for its end, those past the last line for the text's end.
std::uint32_t to_offset(const Source& source, LinePosition position, Encoding encoding);

std::string path_of_uri(std::string_view uri);  // "file:///a%20b" -> "/a b"; others as they are
std::string uri_of_path(std::string_view path);

}  // namespace shardlint::lsp
