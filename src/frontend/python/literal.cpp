#include "frontend/python/literal.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace shardlint::python {
namespace {

std::string without_underscores(std::string_view text) {
  std::string plain;
  for (char c : text) {
    if (c != '_') {
      plain += c;
    }
  }
  return plain;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Reads up to `limit` digits of `base` at `at`; false when there are fewer than `least`.
bool read_code(std::string_view text, std::size_t& at, std::size_t least, std::size_t limit,
               int base, std::uint32_t& code) {
  std::size_t end = at;
  while (end < text.size() && end - at < limit) {
    const char c = text[end];
    const bool digit =
        base == 8 ? (c >= '0' && c <= '7')
                  : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!digit) {
      break;
    }
    ++end;
  }
  if (end - at < least) {
    return false;
  }
  std::from_chars(text.data() + at, text.data() + end, code, base);
  at = end;
  return code <= 0x10FFFF && !(code >= 0xD800 && code < 0xE000);
}

}  // namespace

std::optional<Value> integer_literal(std::string_view text) {
  std::string plain = without_underscores(text);
  int base = 10;
  std::size_t skip = 0;
  if (plain.size() > 2 && plain[0] == '0') {
    const char kind = static_cast<char>(plain[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    skip = base == 10 ? 0 : 2;
  }
  std::int64_t value = 0;
  const char* end = plain.data() + plain.size();
  const auto [stop, error] = std::from_chars(plain.data() + skip, end, value, base);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return Value(value);
}

std::optional<Value> float_literal(std::string_view text) {
  std::string plain = without_underscores(text);
  if (plain.empty() || plain.back() == 'j' || plain.back() == 'J') {
    return std::nullopt;
  }
  if (plain.front() == '.') {
    plain.insert(plain.begin(), '0');
  }
  double value = 0;
  const char* end = plain.data() + plain.size();
  const auto [stop, error] = std::from_chars(plain.data(), end, value);
  if (error == std::errc::result_out_of_range || stop != end) {
    return std::nullopt;
  }
  return Value(value);
}

std::optional<std::string> unescape(std::string_view content, bool raw) {
  if (raw || content.find('\\') == std::string_view::npos) {
    return std::string(content);
  }
  std::string out;
  for (std::size_t i = 0; i < content.size();) {
    if (content[i] != '\\' || i + 1 >= content.size()) {
      out += content[i++];
      continue;
    }
    const char c = content[i + 1];
    std::size_t at = i + 2;
    std::uint32_t code = 0;
    static constexpr std::string_view from = "\\'\"abfnrtv", to = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t simple = from.find(c); simple != std::string_view::npos) {
      out += to[simple];
    } else if (c == '\n') {
    } else if (c == '\r') {
      at += at < content.size() && content[at] == '\n' ? 1 : 0;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      if (!read_code(content, at, digits, digits, 16, code)) {
        return std::nullopt;
      }
      append_utf8(out, code);
    } else if (c >= '0' && c <= '7') {
      at = i + 1;
      read_code(content, at, 1, 3, 8, code);
      append_utf8(out, code);
    } else if (c == 'N') {
      return std::nullopt;
    } else {
      out += '\\';
      out += c;
    }
    i = at;
  }
  return out;
}

std::string float_repr(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  char buffer[64];
  const auto scientific =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(scientific.ptr - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const std::size_t digits = e + 1 + (text[e + 1] == '+' ? 1 : 0);
  std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    return std::string(text);
  }
  char plain[400];
  const auto fixed = std::to_chars(plain, plain + sizeof plain, value, std::chars_format::fixed);
  std::string out(plain, static_cast<std::size_t>(fixed.ptr - plain));
  return out.find('.') == std::string::npos ? out + ".0" : out;
}

std::string string_repr(std::string_view text) {
  const bool swap =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = swap ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == '\\' || c == quote) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out + quote;
}

}  // namespace shardlint::python
