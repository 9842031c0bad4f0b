// What is said about a file that is not YAML, and where.

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/yaml/events.h"
#include "frontend/yaml/lexical.h"

namespace shardlint::yaml {
namespace {

Offset clamp(std::string_view text, std::size_t at) {
  return static_cast<Offset>(std::min(at, text.size()));
}

// A tab among the blanks that indent the line of `at` or one of the lines just above.
std::optional<Offset> tab_indentation(std::string_view text, Offset at) {
  for (int back = 0; back < 3; ++back) {
    const Offset begin = line_start(text, at);
    Offset p = begin;
    while (p < text.size() && is_blank(text[p])) {
      ++p;
    }
    const auto tab = text.substr(begin, p - begin).find('\t');
    const char next = char_at(text, p);
    if (tab != std::string_view::npos && next != '#' && p < text.size() && !is_break(next)) {
      return begin + static_cast<Offset>(tab);
    }
    if (begin == 0) {
      break;
    }
    at = begin - 1;
  }
  return std::nullopt;
}

// The first quote after the last event that opens a scalar and is not closed.
std::optional<Offset> open_quote(std::string_view text, const std::vector<Event>& events) {
  Offset p = 0;
  for (const Event& event : events) {
    if (event.kind != Event::Kind::document_end && event.kind != Event::Kind::mapping_end &&
        event.kind != Event::Kind::sequence_end) {
      p = std::max(p, event.mark);
    }
  }
  for (bool fresh = true; p < text.size(); ++p) {
    const char c = text[p];
    if (fresh && (c == '"' || c == '\'')) {
      const Offset end = quoted_end(text, p);
      if (end == nowhere) {
        return p;
      }
      p = end - 1;
      fresh = false;
    } else if (c == '#' && (p == 0 || is_space(text[p - 1]))) {
      p = line_end(text, p);
      fresh = true;
    } else {
      fresh = is_space(c) || is_flow_indicator(c) || c == ':';
    }
  }
  return std::nullopt;
}

// The line above, when it looks like an entry that lacks its colon: indented as this one, no colon.
std::optional<Range> line_without_colon(std::string_view text, Offset at) {
  const auto indent = [&](Offset line) {
    Offset p = line;
    while (char_at(text, p) == ' ') {
      ++p;
    }
    return p;
  };
  const Offset here = line_start(text, at);
  for (Offset line = here; line > 0;) {
    line = line_start(text, line - 1);
    const Offset begin = indent(line), end = line_end(text, line);
    if (begin >= end || text[begin] == '#') {
      continue;
    }
    const std::string_view content = text.substr(begin, end - begin);
    const bool entry = content.find(": ") != std::string_view::npos || content.ends_with(':') ||
                       content.starts_with("- ");
    return !entry && begin - line == indent(here) - here ? std::optional(Range{begin, end})
                                                         : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Offset> open_bracket(std::string_view text, const std::vector<Event>& events) {
  std::vector<Offset> open;
  for (const Event& event : events) {
    if (event.kind == Event::Kind::sequence || event.kind == Event::Kind::mapping) {
      const Properties found =
          skip_properties(text, event.mark, event.anchor ? 1 : 0, event.tag.empty() ? 0 : 1);
      open.push_back(event.flow ? found.content : nowhere);
    } else if (event.kind == Event::Kind::sequence_end || event.kind == Event::Kind::mapping_end) {
      open.pop_back();
    }
  }
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    if (*at != nowhere && (char_at(text, *at) == '[' || char_at(text, *at) == '{')) {
      return *at;
    }
  }
  return std::nullopt;
}

struct Wording {
  std::string_view theirs, ours, help;
};
constexpr Wording wordings[] = {
    {"illegal map value",
     "a second ': ' on this line, or a key that is not indented like its "
     "neighbours",
     "quote text that contains ': '"},
    {"illegal map key", "a key is not allowed here", ""},
    {"illegal block entry", "a '- ' item is not allowed here", "put it on its own line"},
    {"illegal flow end", "a closing bracket that was never opened", ""},
    {"end of map not found", "this line is not indented like the mapping it is in", ""},
    {"end of sequence not found", "this line is not indented like the list it is in", ""},
    {"unknown token", "this character cannot begin a value", "quote the text"},
    {"illegal document indicator in scalar", "--- or ... inside of a quoted text", ""},
    {"cannot assign multiple tags to the same node", "two tags for one value", ""},
    {"cannot assign multiple anchors to the same node", "two anchors for one value", ""},
    {"aliases can't have any content, *including* tags", "an alias with a tag or anchor", ""},
    {"alias not found after *", "no name after *", "quote text that begins with *"},
    {"anchor not found after &", "no name after &", "quote text that begins with &"},
    {"cannot set zero indentation for a block scalar", "indentation 0 for a block of text", ""},
    {"unexpected character in block scalar", "unexpected character after | or >", ""},
};

}  // namespace

Fault explain_fault(std::string_view text, std::string_view message, std::uint32_t at,
                    const std::vector<Event>& events) {
  Fault fault{"YML100", "yaml-syntax", std::string(message), "", at, line_end(text, at), false};
  fault.end = std::max(fault.begin, fault.end);
  if (message == "illegal EOF in scalar") {
    if (const auto quote = open_quote(text, events)) {
      return {"YML110",
              "yaml-unterminated-quote",
              "a quote that is never closed",
              "close it, or quote with the other kind",
              *quote,
              line_end(text, *quote),
              false};
    }
  }
  if (const auto tab = tab_indentation(text, at);
      tab && (message.find("map") != std::string_view::npos ||
              message.find("tab") != std::string_view::npos ||
              message.find("token") != std::string_view::npos ||
              message.find("sequence") != std::string_view::npos)) {
    return {"YML106",
            "yaml-tab-indentation",
            "a tab in the indentation",
            "indent with blanks",
            *tab,
            *tab + 1,
            false};
  }
  if (message == "illegal map value") {
    if (const auto line = line_without_colon(text, at)) {
      return {"YML100", "yaml-syntax", "no ':' after this key", "", line->begin, line->end, false};
    }
  }
  if (message.ends_with("flow not found")) {
    if (const auto bracket = open_bracket(text, events)) {
      const char c = text[*bracket];
      if (skip_gap(text, at) >= text.size()) {
        return {"YML115",
                "yaml-unclosed-bracket",
                std::string("'") + c + "' is never closed",
                "",
                *bracket,
                *bracket + 1,
                false};
      }
      const auto line = 1 + std::count(text.begin(), text.begin() + *bracket, '\n');
      fault.message = fmt::format("expected ',' or '{}' here; the '{}' of line {} is still open",
                                  c == '[' ? ']' : '}', c, line);
    }
  }
  if (message == "the referenced anchor is not defined") {
    const Offset end = alias_end(text, at);
    return {"YML111",
            "yaml-undefined-alias",
            "no anchor &" +
                std::string(text.substr(std::min<std::size_t>(at + 1, text.size()),
                                        end > at ? end - at - 1 : 0)) +
                " before this alias",
            "",
            at,
            end,
            false};
  }
  if (char_at(text, at) == ',') {
    return {"YML112", "yaml-stray-comma", "a comma outside of brackets", "", at, at + 1, false};
  }
  for (const Wording& wording : wordings) {
    if (message == wording.theirs) {
      fault.message = std::string(wording.ours);
      fault.help = std::string(wording.help);
    }
  }
  return fault;
}

std::optional<Fault> check_bytes(std::string_view text, const Limits& limits) {
  if (text.size() > limits.bytes) {
    return Fault{"YML101",
                 "yaml-too-large",
                 std::to_string(text.size()) + " bytes; files above " +
                     std::to_string(limits.bytes) + " are not read",
                 "",
                 0,
                 0,
                 true};
  }
  // yaml-cpp holds every token of a bracket until it is closed, some 200 bytes each.
  const auto indicators =
      std::count_if(text.begin(), text.end(), [](char c) { return is_flow_indicator(c); });
  if (static_cast<std::size_t>(indicators) > 2 * limits.nodes) {
    return Fault{"YML113",
                 "yaml-too-many-nodes",
                 fmt::format("{} brackets and commas in one file; not read", indicators),
                 "",
                 0,
                 0,
                 true};
  }
  const auto starts = [&](std::string_view bytes) { return text.substr(0, bytes.size()) == bytes; };
  using namespace std::string_view_literals;
  if (starts("\xff\xfe"sv) || starts("\xfe\xff"sv) || starts("\0\0\xfe\xff"sv) ||
      (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'))) {
    return Fault{"YML102",
                 "yaml-encoding",
                 "UTF-16 or UTF-32; the frameworks read UTF-8",
                 "save the file as UTF-8",
                 0,
                 clamp(text, 2),
                 false};
  }
  if (const auto bad = invalid_utf8(text)) {
    return Fault{"YML103", "yaml-invalid-utf8", "a byte that is not UTF-8",
                 "",       clamp(text, *bad),   clamp(text, *bad + 1),
                 false};
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const auto third = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0;
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f ||
        (c == 0xc2 && next < 0xa0 && next != 0x85) ||
        (c == 0xef && next == 0xbf && third >= 0xbe)) {
      return Fault{"YML104",
                   "yaml-control-character",
                   "a control character; YAML forbids it",
                   "delete it, or write it as an escape in double quotes",
                   clamp(text, i),
                   clamp(text, i + 1),
                   false};
    }
    if ((c == 0xc2 && next == 0x85) ||
        (c == 0xe2 && next == 0x80 && (third == 0xa8 || third == 0xa9))) {
      return Fault{"YML116",
                   "yaml-line-separator",
                   "a Unicode line break (NEL, LS or PS): some readers end the line here; not read",
                   "write an ordinary line break",
                   clamp(text, i),
                   clamp(text, i + 1),
                   true};
    }
    if (i > 0 && c == 0xef && next == 0xbb && third == 0xbf) {
      return Fault{"YML105",    "yaml-byte-order-mark", "a byte order mark inside of the file",
                   "delete it", clamp(text, i),         clamp(text, i + 3),
                   false};
    }
  }
  return std::nullopt;
}

}  // namespace shardlint::yaml
