#include "report/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "report/formats.h"

namespace shardlint {
namespace {

constexpr Format table[] = {
    {"full", render_full},     {"concise", render_concise},       {"grouped", render_grouped},
    {"json", render_json},     {"json-lines", render_json_lines}, {"sarif", render_sarif},
    {"github", render_github}, {"gitlab", render_gitlab},         {"junit", render_junit},
    {"rdjson", render_rdjson}, {"checkstyle", render_checkstyle}, {"markdown", render_markdown},
};

std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace

std::span<const Format> formats() {
  return table;
}

const Format& find_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Format& format : table) {
    if (format.name == name) {
      return format;
    }
    names.push_back(format.name);
  }
  const std::string_view near = nearest(name, names);
  throw Error(fmt::format("there is no output format `{}`; {}", name,
                          near.empty() ? fmt::format("the formats are {}", fmt::join(names, ", "))
                                       : fmt::format("did you mean `{}`?", near)));
}

Totals count(std::span<const Diagnostic> diagnostics) {
  Totals totals;
  for (const Diagnostic& d : diagnostics) {
    if (d.verdict == Verdict::unknown) {
      ++totals.unknowns;
    } else if (d.severity == Severity::error) {
      ++totals.errors;
    } else if (d.severity == Severity::warning) {
      ++totals.warnings;
    } else {
      ++totals.infos;
    }
    const auto has = [&](Safety safety) {
      return std::any_of(d.fixes.begin(), d.fixes.end(),
                         [&](const Fix& fix) { return fix.safety == safety; });
    };
    if (has(Safety::safe)) {
      ++totals.fixable_safe;
    } else if (has(Safety::unsafe)) {
      ++totals.fixable_unsafe;
    }
  }
  return totals;
}

std::string summary_line(const Report& report) {
  const Totals totals = count(report.diagnostics);
  std::vector<std::string> found;
  if (totals.errors) {
    found.push_back(counted(totals.errors, "error", "errors"));
  }
  if (totals.warnings) {
    found.push_back(counted(totals.warnings, "warning", "warnings"));
  }
  if (totals.infos) {
    found.push_back(counted(totals.infos, "info", "infos"));
  }
  if (totals.unknowns) {
    found.push_back(fmt::format("{} undecided", totals.unknowns));
  }
  std::string out = found.empty() ? "nothing found" : join(found, ", ");
  out += fmt::format(" in {}", counted(report.files, "file", "files"));
  if (report.skipped) {
    out += fmt::format(" ({} skipped: no training configuration)", report.skipped);
  }
  if (report.fixed) {
    out += fmt::format("; {} fixed", report.fixed);
  }
  if (!report.suppressed.empty()) {
    out += fmt::format("; {} suppressed", report.suppressed.size());
  }
  if (totals.fixable_safe) {
    out += fmt::format("; {} fixable with --fix", totals.fixable_safe);
  }
  if (totals.fixable_unsafe) {
    out += fmt::format("; {} fixable with --fix --unsafe-fixes", totals.fixable_unsafe);
  }
  if (report.milliseconds) {
    out += fmt::format("; {} ms", *report.milliseconds);
  }
  return out;
}

std::vector<std::string> target_lines(const Result& result) {
  std::vector<std::string> out;
  for (const Target& target : result.targets) {
    const std::string taken = fmt::format("taken as {} {}", target.framework, target.version);
    if (target.named.empty()) {
      out.push_back(taken + ", the newest known; --target names another");
      continue;
    }
    const std::string stands_for =
        target.named == target.version ? "" : fmt::format(" for {}", target.named);
    if (!target.place.empty()) {
      out.push_back(fmt::format("{}{}, which {} names; --target names another", taken, stands_for,
                                target.place));
    } else if (!stands_for.empty()) {
      out.push_back(taken + stands_for);
    }
  }
  out.insert(out.end(), result.notes.begin(), result.notes.end());
  return out;
}

std::string statistics(std::span<const Diagnostic> diagnostics) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const Diagnostic& d : diagnostics) {
    ++counts[{d.code, d.name}];
  }
  std::vector<std::pair<std::size_t, std::pair<std::string, std::string>>> rows;
  for (const auto& [rule, n] : counts) {
    rows.push_back({n, rule});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [n, rule] : rows) {
    out += fmt::format("{:>6}  {:<8}  {}\n", n, rule.first, rule.second);
  }
  return out;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

std::string_view safety_name(Safety safety) {
  switch (safety) {
    case Safety::safe:
      return "safe";
    case Safety::unsafe:
      return "unsafe";
    case Safety::display:
      return "display";
  }
  return "display";
}

std::string_view file_kind(std::string_view path) {
  const std::string name = file_name(path);
  const std::size_t dot = name.rfind('.');
  const std::string end = dot == std::string::npos ? "" : lower(name.substr(dot + 1));
  static constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"yaml", "yaml"},   {"yml", "yaml"}, {"sh", "bash"},   {"bash", "bash"}, {"slurm", "bash"},
      {"sbatch", "bash"}, {"sub", "bash"}, {"py", "python"}, {"json", "json"}, {"toml", "toml"}};
  for (const auto& [suffix, kind] : kinds) {
    if (end == suffix) {
      return kind;
    }
  }
  return "other";
}

}  // namespace shardlint
