#include "source/source.h"

#include <algorithm>

namespace shardlint {

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), starts_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      starts_.push_back(static_cast<std::uint32_t>(i + 1));
    }
  }
}

std::string_view Source::text(std::uint32_t begin, std::uint32_t end) const {
  const auto size = static_cast<std::uint32_t>(text_.size());
  begin = std::min(begin, size);
  end = std::clamp(end, begin, size);
  return std::string_view(text_).substr(begin, end - begin);
}

std::uint32_t Source::line_of(std::uint32_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return static_cast<std::uint32_t>(after - starts_.begin());
}

std::uint32_t Source::line_begin(std::uint32_t line) const {
  return line == 0 || line > starts_.size() ? static_cast<std::uint32_t>(text_.size())
                                            : starts_[line - 1];
}

std::string_view Source::line_text(std::uint32_t line) const {
  const std::uint32_t begin = line_begin(line);
  const std::size_t end = text_.find('\n', begin);
  std::string_view out =
      std::string_view(text_).substr(begin, end == std::string::npos ? end : end - begin);
  if (out.ends_with('\r')) {
    out.remove_suffix(1);
  }
  return out;
}

Position Source::position(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const std::uint32_t line = line_of(offset);
  std::uint32_t column = 1;
  for (std::uint32_t i = line_begin(line); i < offset; ++i) {
    column += (static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80;
  }
  return {offset, line, column};
}

Location locate(const Span& span) {
  if (!span.source) {
    return {};
  }
  return {span.source->name(), span.source->position(span.begin),
          span.source->position(std::max(span.begin, span.end))};
}

const Source& Sources::add(std::string name, std::string text) {
  return sources_.emplace_back(std::move(name), std::move(text));
}

const Source* Sources::find(std::string_view name) const {
  for (const Source& source : sources_) {
    if (source.name() == name) {
      return &source;
    }
  }
  return nullptr;
}

}  // namespace shardlint
