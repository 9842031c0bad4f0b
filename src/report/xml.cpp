// JUnit (a suite a file, so that a clean run is not an empty report) and checkstyle.
#include <map>

#include <fmt/format.h>

#include "report/escape.h"
#include "report/formats.h"
#include "report/tool.h"

namespace shardlint {
namespace {

constexpr std::string_view prolog = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

std::string shown(const std::string& file) {
  return file.empty() ? "-" : file;
}

std::map<std::string, std::vector<const Diagnostic*>> by_file(const Report& report) {
  std::map<std::string, std::vector<const Diagnostic*>> files;
  for (const std::string& file : report.clean_files) {
    files[file];
  }
  for (const Diagnostic& d : report.diagnostics) {
    files[shown(d.where.file)].push_back(&d);
  }
  return files;
}

std::string describe(const Diagnostic& d) {
  std::string out =
      fmt::format("line {}, column {}: {}", d.where.begin.line, d.where.begin.column, d.message);
  return d.help.empty() ? out : out + "\n" + d.help;
}

}  // namespace

std::string render_junit(const Report& report, const Look&) {
  const auto files = by_file(report);
  std::string suites;
  std::size_t tests = 0, failures = 0;
  for (const auto& [file, found] : files) {
    std::string cases;
    std::size_t failed = 0;
    for (const Diagnostic* d : found) {
      const std::string name =
          fmt::format("{}:{}:{}", d->code, d->where.begin.line, d->where.begin.column);
      if (d->verdict == Verdict::unknown) {  // not a failure, and not a pass either
        cases += fmt::format(
            "    <testcase name=\"{}\" classname=\"{}\">\n"
            "      <skipped message=\"{}\"/>\n    </testcase>\n",
            xml(name), xml(file), xml(describe(*d)));
        continue;
      }
      ++failed;
      cases += fmt::format(
          "    <testcase name=\"{}\" classname=\"{}\">\n"
          "      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
          xml(name), xml(file), severity_name(d->severity), xml(d->message), xml(describe(*d)));
    }
    if (found.empty()) {
      cases = fmt::format("    <testcase name=\"shardlint\" classname=\"{}\"/>\n", xml(file));
    }
    const std::size_t n = std::max<std::size_t>(found.size(), 1);
    suites += fmt::format(
        "  <testsuite name=\"{}\" package=\"shardlint\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
        "skipped=\"{}\" time=\"0\">\n{}  </testsuite>\n",
        xml(file), n, failed, found.size() - failed, cases);
    tests += n;
    failures += failed;
  }
  return fmt::format(
      "{}<testsuites name=\"shardlint\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "time=\"0\">\n{}</testsuites>\n",
      prolog, tests, failures, suites);
}

std::string render_checkstyle(const Report& report, const Look&) {
  std::string out = fmt::format("{}<checkstyle version=\"4.3\">\n", prolog);
  for (const auto& [file, found] : by_file(report)) {
    if (found.empty()) {
      out += fmt::format("  <file name=\"{}\"/>\n", xml(file));
      continue;
    }
    out += fmt::format("  <file name=\"{}\">\n", xml(file));
    for (const Diagnostic* d : found) {
      out += fmt::format(
          "    <error line=\"{}\" column=\"{}\" severity=\"{}\" message=\"{}\" "
          "source=\"shardlint.{}\"/>\n",
          d->where.begin.line, d->where.begin.column,
          d->verdict == Verdict::unknown ? "info" : severity_name(d->severity), xml(d->message),
          xml(d->code));
    }
    out += "  </file>\n";
  }
  return out + "</checkstyle>\n";
}

}  // namespace shardlint
