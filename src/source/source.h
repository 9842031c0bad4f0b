#pragma once
// The bytes of one file and its line index. The only place where offsets become lines and columns.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint {

class Source {
 public:
  Source(std::string name, std::string text);
  const std::string& name() const { return name_; }  // as the user gave it
  std::string_view text() const { return text_; }
  std::string_view text(std::uint32_t begin, std::uint32_t end) const;

  // Offsets past the end answer for the end. Lines end at \n; columns count code points.
  Position position(std::uint32_t offset) const;
  std::uint32_t line_of(std::uint32_t offset) const;  // from 1
  std::uint32_t line_count() const { return static_cast<std::uint32_t>(starts_.size()); }
  std::uint32_t line_begin(std::uint32_t line) const;    // offset of the line's first byte
  std::string_view line_text(std::uint32_t line) const;  // without \n or \r\n

 private:
  std::string name_, text_;
  std::vector<std::uint32_t> starts_;
};

// A byte range [begin, end) of a source; a null source means "nowhere". The source outlives it.
struct Span {
  const Source* source = nullptr;
  std::uint32_t begin = 0, end = 0;
  explicit operator bool() const { return source != nullptr; }
  std::string_view text() const { return source ? source->text(begin, end) : std::string_view(); }
  bool operator==(const Span&) const = default;
};

Location locate(const Span& span);

// Owns the sources of one run; addresses are stable. Thread-confined: one per run.
class Sources {
 public:
  const Source& add(std::string name, std::string text);
  const Source* find(std::string_view name) const;  // null when there is none of that name

 private:
  std::deque<Source> sources_;
};

}  // namespace shardlint
