#pragma once
// Making foreign text harmless: what is written in a configuration may hold anything.

#include <string>
#include <string_view>

namespace shardlint {

// For terminals: control characters (escape sequences too) and bytes that are not UTF-8 become
// visible; with `tabs` kept as they are otherwise.
std::string printable(std::string_view text, bool one_line = true);
// Bytes that are not UTF-8 become U+FFFD, so that JSON and XML stay valid.
std::string valid_utf8(std::string_view text);
// For XML 1.0 text and double-quoted attributes.
std::string xml(std::string_view text);
// For a path in a URI reference.
std::string uri(std::string_view path);

}  // namespace shardlint
