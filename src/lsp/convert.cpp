#include "lsp/convert.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardlint::lsp {
namespace {

// Bytes of the character that starts with this byte; 1 for what is no UTF-8.
std::uint32_t bytes_of(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

}  // namespace

LinePosition to_line_position(const Source& source, std::uint32_t offset, Encoding encoding) {
  const auto size = static_cast<std::uint32_t>(source.text().size());
  offset = std::min(offset, size);
  const std::uint32_t line = source.line_of(offset), begin = source.line_begin(line);
  std::uint32_t units = 0;
  for (std::uint32_t at = begin; at < offset;) {
    const std::uint32_t bytes = std::min(bytes_of(source.text()[at]), size - at);
    units += encoding == Encoding::utf8 ? std::min(bytes, offset - at) : bytes == 4 ? 2 : 1;
    at += bytes;
  }
  return {line - 1, units};
}

std::uint32_t to_offset(const Source& source, LinePosition position, Encoding encoding) {
  const auto size = static_cast<std::uint32_t>(source.text().size());
  if (position.line >= source.line_count()) {
    return size;
  }
  const std::uint32_t begin = source.line_begin(position.line + 1);
  const auto end = begin + static_cast<std::uint32_t>(source.line_text(position.line + 1).size());
  std::uint32_t at = begin;
  for (std::uint32_t units = 0; at < end && units < position.character;) {
    const std::uint32_t bytes = std::min(bytes_of(source.text()[at]), end - at);
    units += encoding == Encoding::utf8 ? bytes : bytes == 4 ? 2 : 1;
    at += bytes;
  }
  return at;
}

std::string path_of_uri(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) {
    return std::string(uri);
  }
  uri.remove_prefix(scheme.size());
  uri.remove_prefix(std::min(uri.find('/'), uri.size()));  // the host: this machine
  std::string path;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    const bool escape =
        uri[i] == '%' && i + 2 < uri.size() && digit(uri[i + 1]) >= 0 && digit(uri[i + 2]) >= 0;
    path += escape ? static_cast<char>(digit(uri[i + 1]) * 16 + digit(uri[i + 2])) : uri[i];
    i += escape ? 2 : 0;
  }
  return path;
}

std::string uri_of_path(std::string_view path) {
  if (path.find("://") != std::string_view::npos || path.starts_with("untitled:")) {
    return std::string(path);
  }
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = "file://";
  for (const char c : path) {
    uri += plain.find(c) != std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

}  // namespace shardlint::lsp
