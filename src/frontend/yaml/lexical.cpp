#include "frontend/yaml/lexical.h"

#include <algorithm>

namespace shardlint::yaml {

Offset line_start(std::string_view text, Offset at) {
  at = std::min<Offset>(at, static_cast<Offset>(text.size()));
  while (at > 0 && text[at - 1] != '\n') {
    --at;
  }
  return at;
}

Offset line_end(std::string_view text, Offset at) {
  while (at < text.size() && text[at] != '\n') {
    ++at;
  }
  const Offset feed = std::min<Offset>(at, static_cast<Offset>(text.size()));
  return feed < text.size() && feed > 0 && text[feed - 1] == '\r' ? feed - 1 : feed;
}

Offset next_line(std::string_view text, Offset at) {
  while (at < text.size() && text[at] != '\n') {
    ++at;
  }
  return at < text.size() ? at + 1 : static_cast<Offset>(text.size());
}

Offset skip_gap(std::string_view text, Offset at, std::string_view indicators) {
  while (at < text.size()) {
    if (text[at] == '#') {
      at = line_end(text, at);
    } else if (is_space(text[at]) || indicators.find(text[at]) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

Properties skip_properties(std::string_view text, Offset at, unsigned anchors, unsigned tags) {
  Properties found{at, at, at, false};
  while (true) {
    const char c = char_at(text, found.content);
    Offset p = found.content;
    if (c == '&' && anchors > 0) {
      --anchors;
      while (p < text.size() && !is_space(text[p]) && !is_flow_indicator(text[p])) {
        ++p;
      }
    } else if (c == '!' && tags > 0) {
      --tags;
      found.tag = true;
      if (char_at(text, p + 1) == '<') {
        while (p < text.size() && text[p] != '>') {
          ++p;
        }
        p = std::min<Offset>(p + 1, static_cast<Offset>(text.size()));
      } else {
        while (p < text.size() && !is_space(text[p]) && !is_flow_indicator(text[p])) {
          ++p;
        }
      }
    } else {
      return found;
    }
    if (found.end == found.begin) {
      found.begin = found.content;
    }
    found.end = p;
    found.content = skip_gap(text, p);
  }
}

Offset quoted_end(std::string_view text, Offset at) {
  const char quote = char_at(text, at);
  for (Offset p = at + 1; p < text.size(); ++p) {
    if (quote == '"' && text[p] == '\\') {
      ++p;
    } else if (text[p] == quote) {
      if (quote == '\'' && char_at(text, p + 1) == '\'') {
        ++p;
      } else {
        return p + 1;
      }
    }
  }
  return nowhere;
}

// Source and value run in parallel; a run of blanks with a line break in it is one blank of the
// value, or as many line feeds as it has breaks less one.
Offset plain_end(std::string_view text, Offset at, std::string_view value) {
  Offset p = at;
  for (std::size_t i = 0; i < value.size();) {
    if (p >= text.size()) {
      return nowhere;
    }
    if (!is_space(text[p])) {
      if (text[p] != value[i]) {
        return nowhere;
      }
      ++p, ++i;
      continue;
    }
    Offset q = p;
    while (q < text.size() && is_blank(text[q])) {
      ++q;
    }
    if (q < text.size() && is_break(text[q])) {  // a fold
      while (q < text.size() && is_space(text[q])) {
        ++q;
      }
      if (value[i] == ' ') {
        ++i;
      } else if (value[i] == '\n') {
        while (i < value.size() && value[i] == '\n') {
          ++i;
        }
      } else {
        return nowhere;
      }
      p = q;
      continue;
    }
    if (text[p] != value[i]) {
      return nowhere;
    }
    ++p, ++i;
  }
  return p;
}

// The content goes on as long as lines are indented as its first one; blank lines at its end do not
// count, so that an edit of the value leaves the space before the next key alone.
Offset block_end(std::string_view text, Offset at, int parent_indent) {
  int indent = -1;
  Offset p = at + 1;
  for (; p < text.size() && !is_space(text[p]); ++p) {
    if (text[p] >= '1' && text[p] <= '9') {
      indent = std::max(parent_indent, 0) + (text[p] - '0');
    }
  }
  Offset end = p;  // the header, when there is no content
  for (Offset line = next_line(text, p); line < text.size(); line = next_line(text, line)) {
    Offset q = line;
    while (q < text.size() && text[q] == ' ') {
      ++q;
    }
    const int column = static_cast<int>(q - line);
    if (q >= text.size() || is_break(text[q])) {
      if (indent >= 0 && column > indent) {
        end = line_end(text, q);  // blanks beyond the indentation are content
      }
      continue;
    }
    if (indent < 0) {
      if (column <= parent_indent) {
        break;
      }
      indent = column;
    }
    if (column < indent) {
      break;
    }
    const std::string_view mark = text.substr(line, 3);
    if (column == 0 && (mark == "---" || mark == "...") &&
        (line + 3 >= text.size() || is_space(text[line + 3]))) {
      break;
    }
    end = line_end(text, q);
  }
  return end;
}

Offset alias_end(std::string_view text, Offset at) {
  Offset p = at;
  while (p < text.size() && !is_space(text[p]) && !is_flow_indicator(text[p])) {
    ++p;
  }
  return p;
}

}  // namespace shardlint::yaml
