#include "verify/doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "verify/table.h"

namespace shardlint {
using namespace verify;
namespace {

std::string_view word(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::ok:
      return "ok";
    case Finding::Verdict::info:
      return "-";
    case Finding::Verdict::warning:
      return "warning";
    case Finding::Verdict::missing:
      return "missing";
  }
  return "";
}

std::string text_of(const std::vector<Finding>& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& f : findings) {
    std::string need = f.needed.empty() ? "" : "needs " + f.needed;
    for (const std::string& more :
         {f.why, f.where.file.empty() ? std::string()
                                      : fmt::format("{}:{}", f.where.file, f.where.begin.line)}) {
      need += (need.empty() || more.empty() ? "" : "; ") + more;
    }
    rows.push_back({std::string(word(f.verdict)), f.what, f.found, need});
  }
  return render_table(rows, "", Align::left);
}

std::vector<Diagnostic> diagnostics_of(const std::vector<Finding>& findings) {
  std::vector<Diagnostic> out;
  for (const Finding& f : findings) {
    if (f.verdict != Finding::Verdict::missing && f.verdict != Finding::Verdict::warning) {
      continue;
    }
    Diagnostic d;
    d.code = "VFY301";
    d.name = "machine-lacks";
    d.severity = f.verdict == Finding::Verdict::missing ? Severity::error : Severity::warning;
    d.message = f.what + ": " + f.found + (f.needed.empty() ? "" : ", needs " + f.needed);
    d.help = f.why;
    d.where = f.where;
    d.fingerprint = fmt::format("{:016x}", stable_hash(d.code + f.what));
    out.push_back(std::move(d));
  }
  return out;
}

std::string json_of(const std::vector<Finding>& findings) {
  using json = nlohmann::ordered_json;
  json rows = json::array();
  for (const Finding& f : findings) {
    rows.push_back({{"verdict", f.verdict == Finding::Verdict::info ? "info" : word(f.verdict)},
                    {"what", f.what},
                    {"found", f.found},
                    {"needed", f.needed},
                    {"why", f.why},
                    {"file", f.where.file},
                    {"line", f.where.file.empty() ? 0 : f.where.begin.line}});
  }
  const json root = {{"tool", "shardlint doctor"}, {"version", 1}, {"findings", std::move(rows)}};
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

int doctor(const DoctorFlags& flags, const VerifyHooks& hooks) {
  Sources sources;
  LintedConfig linted;
  VerifyFlags choice;
  choice.paths = flags.paths;
  choice.instance = flags.instance;
  choice.force = true;  // what the machine lacks is worth knowing whatever else is wrong
  const Chosen chosen = choose_configuration(choice, hooks, linted, sources);
  const std::vector<Finding> findings =
      examine(look_around(flags.python), chosen.config, flags.smoke_test);
  if (flags.format == "json") {
    fmt::print("{}", json_of(findings));
  } else if (flags.format == "text") {
    fmt::print("{}", text_of(findings));
  } else if (hooks.render) {
    fmt::print("{}", hooks.render(diagnostics_of(findings), flags.format));
  } else {
    throw Error("output format " + flags.format + ": expected text or json");
  }
  const auto is = [&](Finding::Verdict verdict) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& f) { return f.verdict == verdict; });
  };
  const auto missing = is(Finding::Verdict::missing), warnings = is(Finding::Verdict::warning);
  if (flags.format == "text") {
    fmt::print("{} missing, {} warnings\n", missing, warnings);
  }
  return missing > 0 ? 1 : 0;
}

}  // namespace shardlint
