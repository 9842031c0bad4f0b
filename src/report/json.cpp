// The project's own JSON, published as docs/shardlint-output.schema.json.
#include <nlohmann/json.hpp>

#include "report/escape.h"
#include "report/formats.h"
#include "report/tool.h"

namespace shardlint {
namespace {

using json = nlohmann::ordered_json;

json position(const Position& p) {
  return {{"row", p.line}, {"column", p.column}, {"offset", p.offset}};
}

void put_place(json& out, const Location& where) {
  out["filename"] = valid_utf8(where.file);
  out["location"] = where.file.empty() ? json(nullptr) : position(where.begin);
  out["end_location"] = where.file.empty() ? json(nullptr) : position(where.end);
}

json notes(const std::vector<Note>& notes, bool numbered) {
  json out = json::array();
  for (const Note& note : notes) {
    json item = json::object();
    if (numbered) {
      item["step"] = out.size() + 1;
    }
    item["message"] = valid_utf8(note.text);
    put_place(item, note.where);
    out.push_back(std::move(item));
  }
  return out;
}

json unknowns(const std::vector<UnknownInput>& inputs) {
  json out = json::array();
  for (const UnknownInput& input : inputs) {
    json item = {{"key", valid_utf8(input.key)},
                 {"reason", input.reason},
                 {"message", valid_utf8(input.detail)}};
    put_place(item, input.where);
    out.push_back(std::move(item));
  }
  return out;
}

json fixes(const std::vector<Fix>& fixes) {
  json out = json::array();
  for (const Fix& fix : fixes) {
    json edits = json::array();
    for (const Edit& edit : fix.edits) {
      json item = json::object();
      item["content"] = valid_utf8(edit.text);
      put_place(item, edit.where);
      edits.push_back(std::move(item));
    }
    out.push_back({{"title", valid_utf8(fix.title)},
                   {"applicability", safety_name(fix.safety)},
                   {"edits", std::move(edits)}});
  }
  return out;
}

json or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(valid_utf8(text));
}

json diagnostic(const Diagnostic& d, const Suppressed* suppressed) {
  json out = {{"code", d.code},
              {"name", d.name},
              {"severity", severity_name(d.severity)},
              {"verdict", d.verdict == Verdict::unknown ? "unknown" : "violation"},
              {"message", valid_utf8(d.message)},
              {"help", or_null(d.help)},
              {"url", or_null(d.url)}};
  put_place(out, d.where);
  out["kind"] = file_kind(d.where.file);
  out["key"] = d.key.canonical.empty() && d.key.path.empty()
                   ? json(nullptr)
                   : json{{"canonical", valid_utf8(d.key.canonical)},
                          {"path", valid_utf8(d.key.path)},
                          {"value", valid_utf8(d.key.value)},
                          {"origin", or_null(d.key.origin)}};
  out["framework"] = or_null(d.framework);
  out["framework_version"] = or_null(d.framework_version);
  out["case"] = or_null(d.case_id);
  out["instance"] = or_null(d.instance);
  out["related"] = notes(d.related, false);
  out["flow"] = notes(d.flow, true);
  out["unknowns"] = unknowns(d.unknowns);
  out["fixes"] = fixes(d.fixes);
  json evidence = json::array();
  for (const Evidence& e : d.evidence) {
    evidence.push_back({{"repo", e.repo},
                        {"commit", e.commit},
                        {"path", e.path},
                        {"lines", e.lines},
                        {"kind", e.kind}});
  }
  out["evidence"] = std::move(evidence);
  out["suppression"] =
      suppressed ? json{{"kind", suppressed->kind}, {"reason", or_null(suppressed->reason)}}
                 : json(nullptr);
  out["fingerprint"] = d.fingerprint;
  return out;
}

std::string_view named_by(const Target& target) {
  return target.named.empty() ? "newest-assumed" : target.place.empty() ? "option" : "file";
}

json summary(const Report& report) {
  const Totals totals = count(report.diagnostics);
  json out = {{"files", report.files},
              {"skipped", report.skipped},
              {"errors", totals.errors},
              {"warnings", totals.warnings},
              {"infos", totals.infos},
              {"unknowns", totals.unknowns},
              {"fixed", report.fixed},
              {"fixable_safe", totals.fixable_safe},
              {"fixable_unsafe", totals.fixable_unsafe},
              {"suppressed", report.suppressed.size()}};
  if (report.milliseconds) {
    out["ms"] = *report.milliseconds;
  }
  return out;
}

}  // namespace

std::string render_json(const Report& report, const Look&) {
  json diagnostics = json::array(), errors = json::array(), catalogs = json::array(),
       targets = json::array();
  for (const Diagnostic& d : report.diagnostics) {
    diagnostics.push_back(diagnostic(d, nullptr));
  }
  for (const Suppressed& s : report.suppressed) {
    diagnostics.push_back(diagnostic(s.diagnostic, &s));
  }
  for (const Result::Failure& failure : report.errors) {
    errors.push_back({{"filename", valid_utf8(failure.filename)},
                      {"message", valid_utf8(failure.message)},
                      {"location", nullptr}});
  }
  for (const Snapshot& snapshot : this_tool().catalogs) {
    catalogs.push_back({{"framework", snapshot.framework}, {"snapshot", snapshot.commit}});
  }
  for (const Target& target : report.targets) {
    targets.push_back({{"framework", target.framework},
                       {"framework_version", target.version},
                       {"named", or_null(target.named)},
                       {"named_by", named_by(target)},
                       {"place", or_null(target.place)}});
  }
  const Tool& tool = this_tool();
  const json out = {{"version", 1},
                    {"tool",
                     {{"name", tool.name},
                      {"version", tool.version},
                      {"commit", tool.commit},
                      {"rule_pack", tool.rule_pack},
                      {"catalogs", std::move(catalogs)}}},
                    {"targets", std::move(targets)},
                    {"diagnostics", std::move(diagnostics)},
                    {"errors", std::move(errors)},
                    {"summary", summary(report)}};
  return out.dump(2) + "\n";
}

std::string render_json_lines(const Report& report, const Look&) {
  std::string out;
  for (const Diagnostic& d : report.diagnostics) {
    out += diagnostic(d, nullptr).dump() + "\n";
  }
  for (const Suppressed& s : report.suppressed) {
    out += diagnostic(s.diagnostic, &s).dump() + "\n";
  }
  return out;
}

}  // namespace shardlint
