#include "frontend/shell/text.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"

namespace shardlint::shell {

bool Text::known() const {
  return std::none_of(chars.begin(), chars.end(),
                      [](const Char& c) { return c.has(Char::unknown | Char::conditional); });
}

std::string Text::plain() const {
  std::string out(chars.size(), '\0');
  std::transform(chars.begin(), chars.end(), out.begin(), [](const Char& c) { return c.c; });
  return out;
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  end = std::min(end, chars.size());
  begin = std::min(begin, end);
  Text out;
  out.chars.assign(chars.begin() + static_cast<std::ptrdiff_t>(begin),
                   chars.begin() + static_cast<std::ptrdiff_t>(end));
  out.env_default = env_default;
  return out;
}

void Text::append(const Text& other, std::uint8_t flags) {
  chars.reserve(chars.size() + other.chars.size());
  for (Char c : other.chars) {
    c.flags |= flags;
    chars.push_back(c);
  }
  env_default = env_default || other.env_default;
}

std::uint16_t Notes::source_id(const Source& source) {
  const auto found = std::find(sources.begin(), sources.end(), &source);
  if (found != sources.end()) {
    return static_cast<std::uint16_t>(found - sources.begin());
  }
  ensure(sources.size() < 0xffff, "too many sources in one evaluation");
  sources.push_back(&source);
  return static_cast<std::uint16_t>(sources.size() - 1);
}

Text Notes::unknown(Reason reason, std::string detail, const Span& where, std::string path) {
  CharNote note;
  note.span = where;
  note.unknown = std::make_shared<Unknown>(Unknown{reason, std::move(detail), where, false, {}});
  note.path = std::move(path);
  notes.push_back(std::move(note));
  Char c;
  c.c = Word::unknown_mark;
  c.flags = Char::unknown | Char::nowhere;
  c.note = static_cast<std::uint32_t>(notes.size() - 1);
  Text out;
  out.chars.push_back(c);
  return out;
}

void Notes::never_empty() {
  Unknown why = *notes.back().unknown;
  why.not_null = true;
  notes.back().unknown = std::make_shared<Unknown>(std::move(why));
}

Text Notes::computed(std::string_view text, const Span& where) {
  notes.push_back({where, nullptr, {}});
  Text out;
  for (const char c : text) {
    Char made;
    made.c = c;
    made.note = static_cast<std::uint32_t>(notes.size() - 1);
    out.chars.push_back(made);
  }
  return out;
}

Span Notes::place(const Char& c) const {
  if (!c.has(Char::nowhere)) {
    return {sources[c.source], c.offset, c.offset + 1};
  }
  return notes[c.note].span;
}

Span Notes::hull(const Text& text) const {
  Span out;
  for (const Char& c : text.chars) {
    const Span at = place(c);
    if (!at) {
      continue;
    }
    if (!out) {
      out = at;
      continue;
    }
    if (at.source != out.source || at.begin < out.begin) {
      return {};
    }
    out.end = std::max(out.end, at.end);
  }
  return out;
}

std::string Notes::path_of(const Text& text) const {
  std::string out;
  for (const Char& c : text.chars) {
    if (!c.has(Char::unknown)) {
      out += c.c;
      continue;
    }
    const std::string& path = notes[c.note].path;
    if (path.empty()) {
      return {};
    }
    out += path;
  }
  return out.empty() ? out : normal_path(out);
}

std::shared_ptr<const Unknown> Notes::first_unknown(const Text& text) const {
  for (const Char& c : text.chars) {
    if (c.has(Char::unknown)) {
      return notes[c.note].unknown;
    }
  }
  return nullptr;
}

namespace {

// Whether `next` goes on with the run of `last`.
bool joins(const Char& last, const Char& next) {
  if (last.has(Char::unknown) || next.has(Char::unknown) ||
      (last.flags | Char::quoted) != (next.flags | Char::quoted) || last.note != next.note) {
    return false;
  }
  return last.has(Char::nowhere) || (last.source == next.source && last.offset + 1 == next.offset);
}

Piece to_piece(const Char& first, const Notes& notes, bool in_conditional_word) {
  Piece piece;
  piece.span = notes.place(first);
  piece.verbatim = !first.has(Char::nowhere);
  piece.quoted = first.has(Char::quoted);
  piece.env_default = first.has(Char::env_default);
  piece.conditional = first.has(Char::conditional);
  if (first.has(Char::unknown)) {
    piece.unknown = notes.notes[first.note].unknown;
  } else if (piece.conditional && !in_conditional_word) {
    // Part of a word hangs on a condition: what the word is cannot be known.
    piece.unknown = std::make_shared<Unknown>(
        Unknown{Reason::branch, "text that is added under a condition", piece.span, false, {}});
  }
  return piece;
}

}  // namespace

Word to_word(const Field& field, const Notes& notes) {
  Word word;
  const std::vector<Char>& chars = field.text.chars;
  word.written = field.written;
  word.condition = field.condition;
  word.conditional = field.conditional ||
                     (!chars.empty() && std::all_of(chars.begin(), chars.end(), [](const Char& c) {
                       return c.has(Char::conditional);
                     }));
  if (word.conditional && !word.condition && !chars.empty()) {
    word.condition = notes.notes[chars.front().note].span;
  }
  word.open = field.open;
  word.env_default = field.text.env_default;
  for (std::size_t i = 0; i < chars.size(); ++i) {
    word.env_default = word.env_default || chars[i].has(Char::env_default);
    if (i == 0 || word.pieces.back().unknown || !joins(chars[i - 1], chars[i])) {
      word.pieces.push_back(to_piece(chars[i], notes, word.conditional));
      if (word.pieces.back().unknown) {
        word.pieces.back().text = std::string(1, Word::unknown_mark);
        // One mark stands for the whole run of conditional text.
        while (!chars[i].has(Char::unknown) && i + 1 < chars.size() &&
               joins(chars[i], chars[i + 1])) {
          ++i;
          word.pieces.back().span.end = notes.place(chars[i]).end;
        }
        continue;
      }
    }
    Piece& piece = word.pieces.back();
    piece.text += chars[i].c;
    if (piece.verbatim) {
      piece.span.end = chars[i].offset + 1;
      piece.verbatim = piece.span.source->text()[chars[i].offset] == chars[i].c;
    }
  }
  if (!word.written) {
    word.written = notes.hull(field.text);
  }
  return word;
}

}  // namespace shardlint::shell
