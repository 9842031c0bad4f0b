// One finding a line, in the shape that compilers use and editors read; grouped: a heading a file.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/excerpt.h"
#include "report/formats.h"

namespace shardlint {
namespace {

std::string tag(const Diagnostic& d, const Paint& paint) {
  return paint(severity_style(d.severity),
               d.verdict == Verdict::unknown ? "unknown" : severity_name(d.severity));
}

std::string fixable(const Diagnostic& d) {
  for (const Fix& fix : d.fixes) {
    if (fix.safety == Safety::safe) {
      return " [*]";
    }
  }
  return "";
}

}  // namespace

std::string render_concise(const Report& report, const Look& look) {
  const Paint paint(look.color);
  std::string out;
  for (const Diagnostic& d : report.diagnostics) {
    const std::string file = d.where.file.empty() ? "-" : printable(d.where.file);
    out +=
        fmt::format("{}:{}:{}: {}: {}{} {}\n", paint(Paint::bold, file), d.where.begin.line,
                    d.where.begin.column, tag(d, paint), d.code, fixable(d), printable(d.message));
  }
  return out;
}

std::string render_grouped(const Report& report, const Look& look) {
  const Paint paint(look.color);
  std::string out, file = "\n";
  for (const Diagnostic& d : report.diagnostics) {
    if (d.where.file != file) {
      out += fmt::format("{}{}:\n", out.empty() ? "" : "\n",
                         paint(Paint::bold, d.where.file.empty() ? "-" : printable(d.where.file)));
      file = d.where.file;
    }
    out += fmt::format("  {}:{} {} {}{} {}\n", d.where.begin.line, d.where.begin.column,
                       tag(d, paint), d.code, fixable(d), printable(d.message));
  }
  return out;
}

}  // namespace shardlint
