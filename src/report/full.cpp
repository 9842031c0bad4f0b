// The default for people: what is wrong, where, what else takes part, why, and what to do.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/excerpt.h"
#include "report/formats.h"

namespace shardlint {
namespace {

void foot(std::string& out, const Paint& paint, std::string_view name, const std::string& text) {
  out += fmt::format("   {} {}: {}\n", paint(Paint::blue, "="), paint(Paint::bold, name),
                     printable(text));
}

// Where the value came from, when the carets do not already say it.
std::string origin(const Diagnostic& d) {
  if ((d.key.path.empty() && d.key.canonical.empty()) || d.key.origin == "set") {
    return "";
  }
  const std::string& key = d.key.path.empty() ? d.key.canonical : d.key.path;
  std::string out = d.key.origin == "unknown" ? fmt::format("`{}` is not known here", key)
                                              : fmt::format("`{}` is `{}`", key, d.key.value);
  if (!d.key.origin.empty() && d.key.origin != "unknown") {
    static constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"default", "the default"},
        {"override", "from the command line"},
        {"env", "from the environment"},
        {"computed", "computed from other values"}};
    std::string_view word = d.key.origin;
    for (const auto& [name, text] : words) {
      word = name == d.key.origin ? text : word;
    }
    out += fmt::format(" ({})", word);
  }
  return out;
}

std::string place(const Location& where) {
  return where.file.empty()
             ? ""
             : fmt::format(" at {}:{}:{}", where.file, where.begin.line, where.begin.column);
}

}  // namespace

std::string render_full(const Report& report, const Look& look) {
  const Paint paint(look.color);
  Texts texts(report);
  std::string out;
  for (const Diagnostic& d : report.diagnostics) {
    const bool unknown = d.verdict == Verdict::unknown;
    out += fmt::format(
        "{} {}{}\n",
        paint(severity_style(d.severity),
              fmt::format("{}[{}]", unknown ? "unknown" : severity_name(d.severity), d.code)),
        d.name.empty() ? "" : d.name + ": ", paint(Paint::bold, printable(d.message)));
    out += excerpt(d, texts, paint);
    if (d.flow.empty()) {
      if (const std::string text = origin(d); !text.empty()) {
        foot(out, paint, "origin", text);
      }
    }
    for (std::size_t i = 0; i < d.flow.size(); ++i) {
      foot(out, paint, i == 0 ? "origin" : "then", d.flow[i].text + place(d.flow[i].where));
    }
    for (const UnknownInput& input : d.unknowns) {
      foot(out, paint, "unknown",
           fmt::format("`{}` ({}){}{}", input.key, input.reason,
                       input.detail.empty() ? "" : ": " + input.detail, place(input.where)));
    }
    if (!d.help.empty()) {
      foot(out, paint, "help", d.help);
    }
    for (const Fix& fix : d.fixes) {
      foot(out, paint, "fix", fmt::format("{} ({})", fix.title, safety_name(fix.safety)));
    }
    for (const Evidence& e : d.evidence) {
      foot(out, paint, "upstream",
           fmt::format("{} {} {}{}{}", e.repo, e.commit.substr(0, 10), e.path,
                       e.lines.empty() ? "" : ":" + e.lines,
                       e.kind.empty() ? "" : " (" + e.kind + ")"));
    }
    out += '\n';
  }
  return out;
}

}  // namespace shardlint
