// A table for job summaries and comments.
#include <fmt/format.h>

#include "base/strings.h"
#include "report/escape.h"
#include "report/formats.h"

namespace shardlint {
namespace {

// Text in a table cell. Backticks stay, so that `code` in messages reads as code.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '[' || c == ']') {
      out += '\\';
    }
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

// Between backticks nothing is escaped but the table's own bar.
std::string message(std::string_view text) {
  std::string out;
  bool code = false;
  for (const std::string_view piece : split(text, '`')) {
    if (!out.empty() || code) {
      out += '`';
    }
    out += code ? replace_all(printable(piece), "|", "\\|") : cell(piece);
    code = !code;
  }
  return out;
}

}  // namespace

std::string render_markdown(const Report& report, const Look&) {
  std::string out = fmt::format("### shardlint: {}\n", cell(summary_line(report)));
  if (report.diagnostics.empty()) {
    return out;
  }
  out += "\n| place | severity | rule | finding |\n| --- | --- | --- | --- |\n";
  for (const Diagnostic& d : report.diagnostics) {
    const std::string rule = d.url.empty() ? d.code : fmt::format("[{}]({})", d.code, uri(d.url));
    std::string finding = message(d.message);
    if (!d.help.empty()) {
      finding += "<br>" + message(d.help);
    }
    out += fmt::format("| {}:{} | {} | {} | {} |\n",
                       cell(d.where.file.empty() ? "-" : d.where.file), d.where.begin.line,
                       d.verdict == Verdict::unknown ? "unknown" : severity_name(d.severity), rule,
                       finding);
  }
  return out;
}

}  // namespace shardlint
