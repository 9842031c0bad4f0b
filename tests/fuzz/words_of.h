#pragma once
// Bytes to the words of a command line: one a line; a first byte of 1 makes an unknown word, of 2 a
// conditional one, of 3 a word whose second half is unknown.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "frontend/words.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

inline std::vector<Word> words_of(const Source& source) {
  std::vector<Word> words;
  const std::string_view text = source.text();
  for (std::size_t begin = 0; begin <= text.size() && words.size() < 200;) {
    std::size_t end = text.find('\n', begin);
    end = end == std::string_view::npos ? text.size() : end;
    const char kind = begin < end ? text[begin] : '\0';
    const bool marked = kind >= 1 && kind <= 3;
    Word word = literal_word(
        Span{&source, static_cast<std::uint32_t>(begin + marked), static_cast<std::uint32_t>(end)});
    word.conditional = kind == 2;
    if (kind == 1 || kind == 3) {
      Piece piece;
      piece.text = Word::unknown_mark;
      piece.span = word.written;
      piece.verbatim = false;
      piece.unknown =
          std::make_shared<Unknown>(Unknown{Reason::environment, "$X", word.written, false, {}});
      if (kind == 1) {
        word.pieces.clear();
        word.open = true;
      }
      word.pieces.push_back(std::move(piece));
    }
    words.push_back(std::move(word));
    begin = end + 1;
  }
  return words;
}

// Every place lies in the text.
inline void check_places(const Source& source, const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics) {
    ensure(d.where.begin.offset <= d.where.end.offset && d.where.end.offset <= source.text().size(),
           "a finding outside the text");
    for (const Fix& fix : d.fixes) {
      for (const Edit& edit : fix.edits) {
        ensure(edit.where.begin.offset <= edit.where.end.offset &&
                   edit.where.end.offset <= source.text().size(),
               "an edit outside the text");
      }
    }
  }
}

}  // namespace shardlint
