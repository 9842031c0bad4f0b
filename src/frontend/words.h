#pragma once
// The words of a command line as a launch script would pass them, each character with its place.
// What the argument-list and Hydra front ends read; where the words came from is no matter here.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "facts/value.h"
#include "source/source.h"

namespace shardlint {

// A run of characters with one history.
struct Piece {
  std::string text;      // of an unknown piece: one `unknown_mark`
  Span span;             // where it is written; null when nowhere (a separator that a join puts in)
  bool verbatim = true;  // character i of `text` stands at span.begin + i
  bool env_default = false;  // from ${V:-default}, V not given: the environment may say otherwise
  bool quoted = false;
  bool conditional = false;                // there only under a condition that is not known
  std::shared_ptr<const Unknown> unknown;  // null when known
};

// One word. Offsets into it count the bytes of `text()`, so unknown pieces count one.
struct Word {
  static constexpr char unknown_mark = '\x1a';

  std::vector<Piece> pieces;
  Span written;              // the word as the script holds it, quotes and all
  bool conditional = false;  // present on some paths only
  Span condition;            // of a conditional word: what decides
  bool open = false;         // an unquoted unknown: may be no word or several
  bool env_default = false;  // some of it, or its being empty, hangs on an environment variable

  bool known() const;         // every character is
  std::string text() const;   // unknown pieces as `unknown_mark`
  std::string shown() const;  // for people: unknown pieces as the script has them: $HOME/x
  Value value() const;        // a string, or why it cannot be known
  Word slice(std::size_t begin, std::size_t end = std::string::npos) const;
  // Where its characters stand if that is one run, else the word as written. For a slice of a word
  // that has no characters: an empty span at the place where they would be.
  Span span() const;
  // Where a reader looks for the word: as span(), but a text that a variable brought from elsewhere
  // stands where the variable is used.
  Span place() const;
  std::size_t find(char c, std::size_t from = 0) const { return text().find(c, from); }
};

// A word that came from one run of a source, for tests and for arguments without a script.
Word literal_word(const Span& span);
Word literal_word(std::string text);  // nowhere

}  // namespace shardlint
