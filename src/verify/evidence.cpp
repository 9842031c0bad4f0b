#include "verify/evidence.h"

#include <nlohmann/json.hpp>

#include <time.h>

#include "base/files.h"
#include "report/tool.h"

namespace shardlint::verify {
namespace {
using json = nlohmann::ordered_json;

constexpr const char* marker = "shardlint verify";

json place(const Location& where) {
  return {{"file", where.file}, {"line", where.begin.line}, {"column", where.begin.column}};
}

std::string utc() {
  const time_t seconds = ::time(nullptr);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string evidence(const Launched& launched, const Judgement& judgement, const Planned& planned,
                     const std::string& backend, const std::string& executable) {
  static constexpr const char* outcomes[] = {"pass", "fail", "cannot_run", "error"};
  json settings = json::array();
  for (const Setting& s : planned.settings) {
    settings.push_back({{"key", s.key},
                        {"value", s.value},
                        {"use", use_name(s.use)},
                        {"how", s.how},
                        {"limits_the_verdict", s.limits},
                        {"where", place(s.where)}});
  }
  json checks = json::array();
  for (const Check& check : judgement.checks) {
    checks.push_back({{"name", check.name}, {"verdict", check.verdict}, {"reason", check.reason}});
  }
  json findings = json::array();
  for (const Diagnostic& d : judgement.diagnostics) {
    findings.push_back(
        {{"code", d.code}, {"name", d.name}, {"message", d.message}, {"where", place(d.where)}});
  }
  const Ending& e = launched.ending;
  json environment = json::object();
  for (const auto& [name, value] : planned.environment) {
    environment[name] = value;
  }
  const json root = {
      {"tool", marker},
      {"version", 1},
      {"shardlint",
       std::string(this_tool().version) + " (" + std::string(this_tool().commit) + ")"},
      {"date", utc()},
      {"verdict",
       {{"outcome", outcomes[static_cast<int>(judgement.outcome)]},
        {"data_parallel_part_only", planned.data_parallel_only},
        {"headline", judgement.headline},
        {"exit_code", judgement.exit_code}}},
      {"backend", backend},
      {"trainer", executable},
      {"configuration",
       {{"framework", planned.framework},
        {"digest", planned.digest},
        {"environment", environment},
        {"settings", settings},
        {"notes", planned.notes}}},
      {"plan", json::parse(to_json(planned.plan))},
      {"ending",
       {{"kind", ending_name(e.kind)},
        {"rank", e.rank},
        {"phase", e.phase},
        {"detail", e.detail},
        {"seconds", e.seconds},
        {"code", e.code},
        {"message", e.message},
        {"processes_killed_afterwards", launched.strays}}},
      {"checks", checks},
      {"findings", findings},
      {"report", json::parse(launched.report, nullptr, false)},
      {"log", launched.log},
  };
  json out = root;
  if (out["report"].is_discarded()) {
    out["report"] = nullptr;
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

bool may_replace_evidence(const std::string& path) {
  const RealDisk disk;
  if (!disk.is_file(path)) {
    return !disk.is_directory(path);
  }
  const auto text = disk.read(path);
  const json old = text ? json::parse(*text, nullptr, false) : json();
  return old.is_object() && old.contains("tool") && old["tool"] == marker;
}

}  // namespace shardlint::verify
