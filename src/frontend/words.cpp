#include "frontend/words.h"

#include <algorithm>

namespace shardlint {

bool Word::known() const {
  return std::none_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.unknown; });
}

std::string Word::text() const {
  std::string out;
  for (const Piece& piece : pieces) {
    out += piece.text;
  }
  return out;
}

std::string Word::shown() const {
  std::string out;
  for (const Piece& piece : pieces) {
    out += piece.unknown ? piece.unknown->detail : piece.text;
  }
  return out;
}

Value Word::value() const {
  for (const Piece& piece : pieces) {
    if (piece.unknown) {
      Unknown why = *piece.unknown;
      why.detail = shown();
      why.not_null = true;  // a word is a string, if an empty one
      if (pieces.size() > 1) {
        why.domain.clear();  // of the piece, not of the whole
      }
      return why;
    }
  }
  return text();
}

Word Word::slice(std::size_t begin, std::size_t end) const {
  Word out = *this;
  out.pieces.clear();
  std::size_t at = 0;
  for (const Piece& piece : pieces) {
    const std::size_t size = piece.text.size();
    const std::size_t from = std::max(begin, at), to = std::min(end, at + size);
    if (from < to || (size == 0 && begin <= at && at <= end)) {
      Piece part = piece;
      part.text = piece.text.substr(from - at, to - from);
      if (piece.verbatim && piece.span) {
        part.span.begin = static_cast<std::uint32_t>(piece.span.begin + (from - at));
        part.span.end = static_cast<std::uint32_t>(part.span.begin + part.text.size());
      }
      out.pieces.push_back(std::move(part));
    } else if (at + size == begin && piece.span) {
      Span empty = piece.span;  // kept if nothing follows
      empty.begin = empty.end;
      out.written = empty;
    }
    at += size;
  }
  if (!out.pieces.empty()) {
    out.written = written;
  }
  return out;
}

Span Word::span() const {
  Span out;
  for (const Piece& piece : pieces) {
    if (!piece.span) {
      continue;
    }
    if (!out) {
      out = piece.span;
      continue;
    }
    const bool inside = written && piece.span.source == written.source &&
                        out.source == written.source && out.begin >= written.begin &&
                        piece.span.end <= written.end;
    const bool joined = piece.span.source == out.source && piece.span.begin >= out.end &&
                        (piece.span.begin == out.end || inside);
    if (!joined) {
      return written ? written : out;
    }
    out.end = piece.span.end;
  }
  return out ? out : written;
}

Span Word::place() const {
  const Span characters = span();
  const bool inside = characters.source == written.source && characters.begin >= written.begin &&
                      characters.end <= written.end;
  return !written || !characters || inside ? characters : written;
}

Word literal_word(const Span& span) {
  Word word;
  word.written = span;
  Piece piece;
  piece.text = std::string(span.text());
  piece.span = span;
  word.pieces.push_back(std::move(piece));
  return word;
}

Word literal_word(std::string text) {
  Word word;
  Piece piece;
  piece.text = std::move(text);
  piece.verbatim = false;
  word.pieces.push_back(std::move(piece));
  return word;
}

}  // namespace shardlint
