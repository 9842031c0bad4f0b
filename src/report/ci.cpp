// What CI services read from a job: GitHub's workflow commands, GitLab's code quality report,
// reviewdog's rdjson.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/files.h"
#include "base/strings.h"
#include "report/escape.h"
#include "report/excerpt.h"
#include "report/formats.h"
#include "report/tool.h"

namespace shardlint {
namespace {

using json = nlohmann::ordered_json;

std::string command_text(std::string_view text) {
  std::string out = replace_all(valid_utf8(text), "%", "%25");
  return replace_all(replace_all(out, "\r", "%0D"), "\n", "%0A");
}

std::string command_property(std::string_view text) {
  return replace_all(replace_all(command_text(text), ":", "%3A"), ",", "%2C");
}

std::string with_help(const Diagnostic& d) {
  std::string out = d.message;
  for (const UnknownInput& input : d.unknowns) {
    out += fmt::format("\n`{}` is not known ({}){}", input.key, input.reason,
                       input.detail.empty() ? "" : ": " + input.detail);
  }
  return d.help.empty() ? out : out + "\n" + d.help;
}

// reviewdog counts columns in bytes.
json byte_position(const Position& p, const Source* source) {
  const std::uint32_t column =
      source ? p.offset - std::min(p.offset, source->line_begin(p.line)) + 1 : p.column;
  return {{"line", p.line}, {"column", column}};
}

json byte_range(const Location& where, Texts& texts) {
  const Source* source = texts.find(where.file);
  return {{"start", byte_position(where.begin, source)}, {"end", byte_position(where.end, source)}};
}

json byte_location(const Location& where, Texts& texts) {
  return {{"path", valid_utf8(where.file)}, {"range", byte_range(where, texts)}};
}

}  // namespace

std::string render_github(const Report& report, const Look&) {
  std::string out;
  for (const Diagnostic& d : report.diagnostics) {
    const Severity severity = d.verdict == Verdict::unknown ? Severity::info : d.severity;
    const std::string_view level = severity == Severity::info ? "notice" : severity_name(severity);
    out += fmt::format("::{} title=shardlint ({})", level, command_property(d.code));
    if (!d.where.file.empty()) {
      out += fmt::format(",file={},line={}", command_property(d.where.file), d.where.begin.line);
      if (d.where.begin.line == d.where.end.line) {  // GitHub drops columns of longer spans
        out += fmt::format(",col={},endLine={},endColumn={}", d.where.begin.column,
                           d.where.end.line, d.where.end.column);
      }
      out += fmt::format("::{}:{}:{}: ", command_text(d.where.file), d.where.begin.line,
                         d.where.begin.column);
    } else {
      out += "::";
    }
    out += fmt::format("{} {}\n", d.code, command_text(with_help(d)));
  }
  return out;
}

std::string render_gitlab(const Report& report, const Look&) {
  json out = json::array();
  for (const Diagnostic& d : report.diagnostics) {
    const std::string_view severity = d.verdict == Verdict::unknown     ? "info"
                                      : d.severity == Severity::error   ? "major"
                                      : d.severity == Severity::warning ? "minor"
                                                                        : "info";
    out.push_back({{"description", fmt::format("{}: {}", d.code, valid_utf8(d.message))},
                   {"check_name", d.code},
                   {"fingerprint", d.fingerprint},
                   {"severity", severity},
                   {"location",
                    {{"path", normal_path(valid_utf8(d.where.file))},
                     {"positions",
                      {{"begin", {{"line", d.where.begin.line}, {"column", d.where.begin.column}}},
                       {"end", {{"line", d.where.end.line}, {"column", d.where.end.column}}}}}}}});
  }
  return out.dump(2) + "\n";
}

std::string render_rdjson(const Report& report, const Look&) {
  Texts texts(report);
  json diagnostics = json::array();
  for (const Diagnostic& d : report.diagnostics) {
    const std::string_view severity = d.verdict == Verdict::unknown || d.severity == Severity::info
                                          ? "INFO"
                                      : d.severity == Severity::error ? "ERROR"
                                                                      : "WARNING";
    json code = {{"value", d.code}};
    if (!d.url.empty()) {
      code["url"] = d.url;
    }
    json item = {{"message", valid_utf8(with_help(d))},
                 {"location", byte_location(d.where, texts)},
                 {"severity", severity},
                 {"code", std::move(code)}};
    json suggestions = json::array(), related = json::array();
    for (const Fix& fix : d.fixes) {
      for (const Edit& edit : fix.edits) {
        if (edit.where.file == d.where.file) {
          suggestions.push_back(
              {{"range", byte_range(edit.where, texts)}, {"text", valid_utf8(edit.text)}});
        }
      }
    }
    for (const Note& note : d.related) {
      if (!note.where.file.empty()) {
        related.push_back(
            {{"message", valid_utf8(note.text)}, {"location", byte_location(note.where, texts)}});
      }
    }
    if (!suggestions.empty()) {
      item["suggestions"] = std::move(suggestions);
    }
    if (!related.empty()) {
      item["related_locations"] = std::move(related);
    }
    diagnostics.push_back(std::move(item));
  }
  const json out = {{"source", {{"name", this_tool().name}}},
                    {"diagnostics", std::move(diagnostics)}};
  return out.dump(2) + "\n";
}

}  // namespace shardlint
