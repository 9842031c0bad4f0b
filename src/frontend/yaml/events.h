#pragma once
// The parser's events, then the same events with their exact place in the text. yaml-cpp gives a
// start mark and the decoded value; where a thing ends, and how it was written, is found again in
// the text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/yaml/document.h"

namespace shardlint::yaml {

// Why a file is not read: the code of document.h, a sentence, a byte range.
struct Fault {
  std::string code, name, message, help;
  std::uint32_t begin = 0, end = 0;
  bool limit = false;  // a guard of ours, not a fault of the file
};

struct Event {
  enum class Kind {
    document,
    document_end,
    null,
    scalar,
    alias,
    sequence,
    sequence_end,
    mapping,
    mapping_end
  };
  Kind kind = Kind::null;
  Node::Style style = Node::Style::plain;
  bool flow = false;
  bool implicit = false;   // a null that is not written
  std::uint32_t mark = 0;  // where yaml-cpp saw it: at the tag or anchor if there is one
  std::uint32_t begin = 0, end = 0;
  std::uint32_t properties_begin = 0, properties_end = 0;
  std::size_t anchor = 0;       // yaml-cpp's number of the anchor, 0 for none
  std::string tag, text, name;  // name: of the anchor
};

struct EventList {
  std::vector<Event> events;
  std::optional<Fault> fault;
};

// `text` is valid UTF-8 without a byte order mark.
EventList parse_events(std::string_view text, const Limits& limits);

// Fills in begin, end, style, implicit and properties.
std::optional<Fault> place_events(std::string_view text, std::vector<Event>& events);

struct Range {
  std::uint32_t begin = 0, end = 0;
};
// What stands between the tokens, given events that are placed.
struct Trivia {
  std::vector<Range> comments;
  std::uint32_t tab = UINT32_MAX;  // the first one outside of quotes, comments and block scalars
};
Trivia find_trivia(std::string_view text, const std::vector<Event>& events);

// The first reason not to parse the text at all.
std::optional<Fault> check_bytes(std::string_view text, const Limits& limits);

// yaml-cpp's complaint in better words and at a better place. `events`: what came before it.
Fault explain_fault(std::string_view text, std::string_view message, std::uint32_t at,
                    const std::vector<Event>& events);

}  // namespace shardlint::yaml
