#pragma once
// Text inside the evaluator: every character knows where it was written, and whether it is known.
// Kept per character because bash cuts, joins, splits and parses text again at any place.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/words.h"

namespace shardlint::shell {

struct Char {
  static constexpr std::uint8_t quoted = 1, env_default = 2, conditional = 4, nowhere = 8,
                                unknown = 16;
  char c = 0;
  std::uint8_t flags = nowhere;
  std::uint16_t source = 0;  // index into Notes::sources
  std::uint32_t offset = 0;
  std::uint32_t note = 0;  // index into Notes::notes; 0: a plain character, standing at `offset`
  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

struct Text {
  std::vector<Char> chars;
  bool env_default = false;  // matters for an empty text: empty only while a variable is not given

  bool empty() const { return chars.empty(); }
  std::size_t size() const { return chars.size(); }
  bool known() const;         // no unknown and no conditional character
  std::string plain() const;  // unknown characters as Word::unknown_mark
  Text slice(std::size_t begin, std::size_t end) const;
  void append(const Text& other, std::uint8_t flags = 0);
};

// What characters that are not simply copied from a place have to say.
struct CharNote {
  Span span;                               // the expression that made them
  std::shared_ptr<const Unknown> unknown;  // null: computed, or conditional text
  std::string path;  // unknown text that is a path: where it lies as seen from here, else empty
};

// One per evaluation; characters refer into it.
struct Notes {
  std::vector<const Source*> sources;
  std::deque<CharNote> notes{CharNote{}};

  std::uint16_t source_id(const Source& source);
  Text unknown(Reason reason, std::string detail, const Span& where, std::string path = {});
  void never_empty();  // the unknown text that was made last
  Text computed(std::string_view text, const Span& where);
  Span place(const Char& c) const;
  // The smallest span that holds these characters if all are of one source, in order.
  Span hull(const Text& text) const;
  // The path with its unknown parts filled in as seen from here, or empty.
  std::string path_of(const Text& text) const;
  std::shared_ptr<const Unknown> first_unknown(const Text& text) const;
};

// A word, or an element of an array.
struct Field {
  Text text;
  Span written;
  bool conditional = false;
  Span condition;
  bool open = false;     // an unquoted unknown: none, one or several words
  bool cut_out = false;  // `written` is only where its characters stand, cut out of a longer text
};

Word to_word(const Field& field, const Notes& notes);

}  // namespace shardlint::shell
