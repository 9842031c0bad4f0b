#include "report/escape.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace shardlint {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7F;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (std::optional<std::size_t> bad = invalid_utf8(text); bad; bad = invalid_utf8(text)) {
    out += text.substr(0, *bad);
    out += replacement;
    text.remove_prefix(*bad + 1);
  }
  return out += text;
}

std::string printable(std::string_view text, bool one_line) {
  const std::string valid = valid_utf8(text);
  std::string out;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const unsigned char c = valid[i];
    if (c == '\t') {
      out += ' ';
    } else if (c == '\n') {
      out += one_line ? "\\n" : "\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (is_control(c)) {
      out += fmt::format("\\x{:02x}", c);
    } else if (c == 0xC2 && i + 1 < valid.size() &&
               static_cast<unsigned char>(valid[i + 1]) < 0xA0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(valid[++i]));  // C1 controls
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        if (is_control(static_cast<unsigned char>(c))) {
          out += replacement;  // XML 1.0 cannot hold it, escaped or not
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string uri(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const unsigned char u = c;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        std::string_view("-._~/!$'()*+,;=@").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", u);
    }
  }
  return out;
}

}  // namespace shardlint
