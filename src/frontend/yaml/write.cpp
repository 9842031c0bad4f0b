#include "frontend/yaml/write.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"

namespace shardlint::yaml {
namespace {

std::string write_double(double value) {
  if (std::isnan(value)) {
    return ".nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-.inf" : ".inf";
  }
  std::string text = fmt::format("{}", value);
  const std::size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos) {  // YAML 1.1 takes 1e-05 for text
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

bool quoted_like(const Node* like, Node::Style style) {
  return like && like->kind == Node::Kind::scalar && like->style == style;
}

// Whether the text, written as it is, is read as this very string, also between brackets.
bool plain_is_safe(std::string_view text, Mode mode) {
  if (text.empty() || text.find('\n') != std::string_view::npos ||
      !resolve_scalar(text, Node::Style::plain, "", mode).if_string()) {
    return false;
  }
  for (const bool brackets : {false, true}) {
    const std::string line =
        brackets ? fmt::format("k: [{}, x]\n", text) : fmt::format("k: {}\n", text);
    const Source source("", line);
    const Document document = read(source);
    const Node* value = document.root() ? document.root()->find("k") : nullptr;
    if (value && value->is_sequence()) {
      value = value->items().size() == 2 ? value->items()[0] : nullptr;
    }
    if (!value || value->scalar() != text || !document.comments.empty()) {
      return false;
    }
  }
  return true;
}

std::string write_double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string write_string(std::string_view text, Mode mode, const Node* like) {
  const bool printable = std::none_of(text.begin(), text.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!printable || quoted_like(like, Node::Style::double_quoted)) {
    return write_double_quoted(text);
  }
  if (!quoted_like(like, Node::Style::single_quoted) && plain_is_safe(text, mode)) {
    return std::string(text);
  }
  return "'" + replace_all(std::string(text), "'", "''") + "'";
}

}  // namespace

std::string write_value(const Value& value, Mode mode, const Node* like) {
  if (value.is_unknown()) {
    return {};
  }
  if (value.is_null()) {
    return "null";
  }
  if (const bool* flag = value.if_bool()) {
    const std::string old(like ? like->scalar() : std::string_view());
    const bool capital = old == "True" || old == "False";
    return *flag ? (capital ? "True" : "true") : (capital ? "False" : "false");
  }
  if (value.if_integer()) {
    return value.text();
  }
  if (const double* number = value.if_double()) {
    return write_double(*number);
  }
  if (const std::string* text = value.if_string()) {
    return write_string(*text, mode, like);
  }
  std::string out;
  if (const List* list = value.if_list()) {
    for (const Value& item : *list) {
      out += (out.empty() ? "" : ", ") + write_value(item, mode);
    }
    return "[" + out + "]";
  }
  for (const auto& [key, item] : *value.if_map()) {
    out += (out.empty() ? "" : ", ") + write_string(key, mode, nullptr) + ": " +
           write_value(item, mode);
  }
  return "{" + out + "}";
}

}  // namespace shardlint::yaml
