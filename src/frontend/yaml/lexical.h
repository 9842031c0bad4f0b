#pragma once
// Small questions about YAML text, by offset. Offsets past the end are answered, never read.

#include <cstdint>
#include <string_view>

namespace shardlint::yaml {

using Offset = std::uint32_t;
inline constexpr Offset nowhere = UINT32_MAX;

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
inline bool is_break(char c) {
  return c == '\n' || c == '\r';
}
inline bool is_space(char c) {
  return is_blank(c) || is_break(c);
}
inline bool is_flow_indicator(char c) {
  return c == ',' || c == '[' || c == ']' || c == '{' || c == '}';
}
inline char char_at(std::string_view text, Offset at) {
  return at < text.size() ? text[at] : '\0';
}

Offset line_start(std::string_view text, Offset at);
Offset line_end(std::string_view text, Offset at);   // of the content: before \r\n or \n
Offset next_line(std::string_view text, Offset at);  // after the line's break
// Past blanks, line breaks and comments; `indicators` are passed over too.
Offset skip_gap(std::string_view text, Offset at, std::string_view indicators = {});

// One anchor and one tag at most, in any order. end == begin: none there.
struct Properties {
  Offset begin = 0, end = 0;  // the properties themselves
  Offset content = 0;         // where what they belong to begins, if it is there
  bool tag = false;
};
Properties skip_properties(std::string_view text, Offset at, unsigned anchors, unsigned tags);

// Ends of scalars that begin at `at`, or `nowhere`. The value is the decoded one.
Offset quoted_end(std::string_view text, Offset at);
Offset plain_end(std::string_view text, Offset at, std::string_view value);
Offset block_end(std::string_view text, Offset at, int parent_indent);
Offset alias_end(std::string_view text, Offset at);

}  // namespace shardlint::yaml
