#include "lsp/transport.h"

#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"

namespace shardlint::lsp {
namespace {

constexpr std::size_t max_header_line = 4096;

// Without its line end; nothing at the end of the input.
std::optional<std::string> read_line(std::FILE* in) {
  std::string line;
  for (int c = std::getc(in); c != EOF; c = std::getc(in)) {
    if (c == '\n') {
      if (line.ends_with('\r')) {
        line.pop_back();
      }
      return line;
    }
    if (line.size() == max_header_line) {
      throw Error("a header line of a message is too long");
    }
    line += static_cast<char>(c);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_message(std::FILE* in) {
  constexpr std::string_view field = "content-length:";
  std::optional<std::size_t> length;
  for (;;) {
    const std::optional<std::string> line = read_line(in);
    if (!line) {
      return std::nullopt;
    }
    if (line->empty()) {
      break;
    }
    if (lower(line->substr(0, field.size())) != field) {
      continue;  // Content-Type, which has one value
    }
    const std::size_t begin = line->find_first_not_of(' ', field.size());
    std::size_t value = 0;
    const char* end = line->data() + line->size();
    if (begin == std::string::npos ||
        std::from_chars(line->data() + begin, end, value).ptr != end || value > max_message_bytes) {
      throw Error(fmt::format("`{}` is no length of a message", *line));
    }
    length = value;
  }
  if (!length) {
    throw Error("a message without Content-Length");
  }
  std::string content(*length, '\0');
  if (std::fread(content.data(), 1, content.size(), in) != content.size()) {
    return std::nullopt;
  }
  return content;
}

void write_message(std::FILE* out, std::string_view content) {
  fmt::print(out, "Content-Length: {}\r\n\r\n", content.size());
  std::fwrite(content.data(), 1, content.size(), out);
  std::fflush(out);
}

}  // namespace shardlint::lsp
