#include "report/excerpt.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/escape.h"

namespace shardlint {
namespace {

// Longer lines are shown around the place in question only.
constexpr std::size_t max_width = 140;

struct Mark {
  Location where;
  std::string label;
  bool primary = false;
};

struct Shown {
  std::string text, under;  // the line, and spaces and marks below it
};

std::string tail(const std::string& label) {
  return label.empty() ? "" : " " + printable(label);
}

// One column a code point; control characters take more, so text and marks are built together.
Shown show(const Source& source, std::uint32_t line, const Mark& mark) {
  const std::string_view text = source.line_text(line);
  const std::uint32_t start = source.line_begin(line);
  const std::uint32_t begin = mark.where.begin.offset;
  const std::uint32_t end = mark.where.end.line > line
                                ? start + static_cast<std::uint32_t>(text.size())
                                : std::max(mark.where.end.offset, begin + 1);
  Shown out;
  std::size_t first = 0, column = 0;
  const char sign = mark.primary ? '^' : '-';
  if (text.size() > max_width && begin > start + max_width / 2) {
    first = begin - start - max_width / 2;
    while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xC0) == 0x80) {
      ++first;
    }
    out.text = "...";
    out.under = "   ";
  }
  for (std::size_t i = first; i < text.size();) {
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) {
      ++next;
    }
    const std::string piece = printable(text.substr(i, next - i));
    const bool plain = piece.size() == next - i || text[i] == '\t';
    const std::size_t width = plain ? 1 : piece.size();
    const bool inside = start + i >= begin && start + i < end;
    if (column + width > max_width) {
      out.text += "...";
      break;
    }
    out.text += piece;
    out.under += std::string(width, inside ? sign : ' ');
    column += width;
    i = next;
  }
  if (out.under.find(sign) == std::string::npos) {
    out.under += sign;  // the place is the line's end
  }
  while (out.under.ends_with(' ')) {
    out.under.pop_back();
  }
  return out;
}

std::string block(const std::vector<const Mark*>& marks, const Source* source, std::size_t gutter,
                  std::string_view style, const Paint& paint) {
  const Mark& head = *marks.front();
  std::string out = fmt::format(
      "{}{} {}:{}:{}\n", std::string(gutter, ' '), paint(Paint::blue, head.primary ? "-->" : ":::"),
      printable(head.where.file), head.where.begin.line, head.where.begin.column);
  const std::string bar = paint(Paint::blue, "|");
  const std::string empty = fmt::format("{} {}\n", std::string(gutter, ' '), bar);
  if (!source) {
    for (const Mark* mark : marks) {
      if (!mark->label.empty()) {
        out += fmt::format("{} {} line {}:{}\n", std::string(gutter, ' '), paint(Paint::blue, "="),
                           mark->where.begin.line, tail(mark->label));
      }
    }
    return out;
  }
  out += empty;
  std::vector<const Mark*> ordered = marks;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Mark* a, const Mark* b) {
    return a->where.begin.offset < b->where.begin.offset;
  });
  std::uint32_t last = 0;
  for (const Mark* mark : ordered) {
    const std::uint32_t line = mark->where.begin.line;
    const Shown shown = show(*source, line, *mark);
    if (line != last) {
      if (last && line > last + 1) {
        out += line == last + 2
                   ? fmt::format("{} {} {}\n",
                                 paint(Paint::blue, fmt::format("{:>{}}", last + 1, gutter)), bar,
                                 show(*source, last + 1, *mark).text)
                   : paint(Paint::blue, "...") + "\n";
      }
      out += fmt::format("{} {} {}\n", paint(Paint::blue, fmt::format("{:>{}}", line, gutter)), bar,
                         shown.text);
    }
    out += fmt::format("{} {} {}\n", std::string(gutter, ' '), bar,
                       paint(mark->primary ? style : Paint::blue, shown.under + tail(mark->label)));
    last = line;
  }
  return out;
}

}  // namespace

std::string Paint::operator()(std::string_view style, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
}

std::string_view severity_style(Severity severity) {
  switch (severity) {
    case Severity::error:
      return Paint::red;
    case Severity::warning:
      return Paint::yellow;
    case Severity::info:
      return Paint::cyan;
  }
  return Paint::red;
}

const Source* Texts::find(const std::string& path) {
  const auto known = found_.find(path);
  if (known != found_.end()) {
    return known->second;
  }
  const Source* source = nullptr;
  if (report_.text && !path.empty()) {
    if (std::optional<std::string> text = report_.text(path)) {
      source = &sources_.add(path, std::move(*text));
    }
  }
  return found_[path] = source;
}

std::string excerpt(const Diagnostic& diagnostic, Texts& texts, const Paint& paint) {
  if (diagnostic.where.file.empty()) {
    return "";
  }
  std::vector<Mark> marks = {{diagnostic.where, "", true}};
  for (const Note& note : diagnostic.related) {
    marks.push_back({note.where, note.text, false});
  }
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Mark*>> files;
  std::uint32_t last_line = 1;
  for (const Mark& mark : marks) {
    if (mark.where.file.empty()) {
      continue;
    }
    std::vector<const Mark*>& here = files[mark.where.file];
    if (here.empty()) {
      order.push_back(mark.where.file);
    }
    here.push_back(&mark);
    last_line = std::max(last_line, mark.where.begin.line);
  }
  const std::size_t gutter = std::max<std::size_t>(2, std::to_string(last_line).size());
  std::string out;
  for (const std::string& file : order) {
    out += block(files[file], texts.find(file), gutter, severity_style(diagnostic.severity), paint);
  }
  return out;
}

}  // namespace shardlint
