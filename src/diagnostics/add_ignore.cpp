#include "diagnostics/add_ignore.h"

#include <fmt/format.h>

#include "diagnostics/comments.h"

namespace shardlint {
namespace {

// Where a code can be added to the line's own `ignore[...]`: before its bracket.
std::optional<std::uint32_t> existing_list(const Source& source, const LexedLine& line) {
  const std::string_view comment = source.text(line.comment, line.end);
  const std::size_t at = comment.find("shardlint: ignore[");
  const std::size_t end = at == std::string_view::npos ? at : comment.find(']', at);
  if (end == std::string_view::npos) {
    return {};
  }
  return line.comment + static_cast<std::uint32_t>(end);
}

Fix insertion(const Source& source, const Diagnostic& finding, std::uint32_t at, std::string text) {
  return {fmt::format("ignore {} here", finding.code),
          Safety::safe,
          {{locate({&source, at, at}), std::move(text)}}};
}

}  // namespace

std::optional<Fix> ignore_comment(const Diagnostic& finding, const Source& source,
                                  std::string_view reason) {
  const std::optional<CommentSyntax> syntax = comment_syntax(source.name());
  const std::vector<LexedLine> lines =
      syntax ? lex_lines(source.text(), *syntax) : std::vector<LexedLine>();
  std::size_t index = finding.where.begin.line - 1;
  if (index >= lines.size()) {
    return {};
  }
  const std::string comment = fmt::format("# shardlint: ignore[{}]{}", finding.code,
                                          reason.empty() ? "" : fmt::format(" -- {}", reason));
  const std::string more = ", " + finding.code;
  if (!lines[index].open_end) {
    if (const auto at = existing_list(source, lines[index])) {
      return insertion(source, finding, *at, more);
    }
    std::uint32_t end = lines[index].end;
    while (end > lines[index].begin &&
           std::string_view(" \t\r").find(source.text()[end - 1]) != std::string_view::npos) {
      --end;
    }
    return insertion(source, finding, end, "  " + comment);
  }
  while (index > 0 && lines[index].inside) {
    --index;
  }
  if (index > 0 && !lines[index - 1].content) {
    if (const auto at = existing_list(source, lines[index - 1])) {
      return insertion(source, finding, *at, more);
    }
  }
  const std::string newline =
      source.text(lines[index].begin, lines[index].end).ends_with('\r') ? "\r\n" : "\n";
  const std::uint32_t begin = lines[index].begin;
  return insertion(
      source, finding, begin,
      std::string(source.text(begin, begin + lines[index].indent)) + comment + newline);
}

}  // namespace shardlint
