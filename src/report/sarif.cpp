// SARIF 2.1.0 (OASIS), in the subset that GitHub code scanning reads and with what it does not.
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "report/escape.h"
#include "report/excerpt.h"
#include "report/formats.h"
#include "report/tool.h"

namespace shardlint {
namespace {

using json = nlohmann::ordered_json;

json text(const std::string& words) {
  return {{"text", valid_utf8(words)}};
}

std::string_view level(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::info:
      return "note";
  }
  return "none";
}

json artifact(const std::string& file) {
  if (file.starts_with('/')) {
    return {{"uri", "file://" + uri(file)}};
  }
  std::string_view path = file;
  if (path.starts_with("./")) {
    path.remove_prefix(2);
  }
  return {{"uri", uri(path)}, {"uriBaseId", "SRCROOT"}};
}

json region(const Location& where) {
  return {{"startLine", where.begin.line},
          {"startColumn", where.begin.column},
          {"endLine", where.end.line},
          {"endColumn", where.end.column}};
}

json place(const Location& where, Texts* texts) {
  json out = {{"artifactLocation", artifact(where.file)}, {"region", region(where)}};
  if (texts) {
    if (const Source* source = texts->find(where.file)) {
      out["region"]["snippet"] =
          text(std::string(source->text(where.begin.offset, where.end.offset)));
    }
  }
  return out;
}

json location(const Note& note) {
  json out = json::object();
  if (!note.where.file.empty()) {
    out["physicalLocation"] = place(note.where, nullptr);
  }
  out["message"] = text(note.text);
  return out;
}

json fix(const Fix& fix) {
  json changes = json::array();
  std::map<std::string, json> files;
  for (const Edit& edit : fix.edits) {
    json& replacements = files[edit.where.file];
    replacements.push_back(
        {{"deletedRegion", region(edit.where)}, {"insertedContent", text(edit.text)}});
  }
  for (auto& [file, replacements] : files) {
    changes.push_back(
        {{"artifactLocation", artifact(file)}, {"replacements", std::move(replacements)}});
  }
  return {{"description", text(fix.title)}, {"artifactChanges", std::move(changes)}};
}

// Rules by code, in order; a code without a description is described by its name.
class Rules {
 public:
  explicit Rules(const Report& report) {
    for (const RuleInfo& rule : report.rules) {
      known_[rule.code] = &rule;
    }
  }
  std::size_t index(const Diagnostic& d) {
    const auto [at, fresh] = indices_.try_emplace(d.code, list_.size());
    if (fresh) {
      const auto known = known_.find(d.code);
      list_.push_back(describe(d, known == known_.end() ? nullptr : known->second));
    }
    return at->second;
  }
  json list() const { return list_; }

 private:
  static json describe(const Diagnostic& d, const RuleInfo* rule) {
    json out = {{"id", d.code}, {"name", d.name.empty() ? d.code : d.name}};
    out["shortDescription"] = text(rule && !rule->summary.empty() ? rule->summary : d.name);
    if (rule) {
      if (!rule->rationale.empty()) {
        out["fullDescription"] = text(rule->rationale);
      }
      const std::string help = rule->rationale + (rule->help.empty() ? "" : "\n" + rule->help);
      if (!help.empty()) {
        out["help"] = {{"text", valid_utf8(help)}, {"markdown", valid_utf8(help)}};
      }
      if (!rule->url.empty()) {
        out["helpUri"] = rule->url;
      }
      out["defaultConfiguration"] = {{"level", level(rule->severity)}};
      json tags = json::array();
      for (const std::string& tag : rule->tags) {
        if (tags.size() < 10) {  // GitHub keeps ten
          tags.push_back(tag);
        }
      }
      out["properties"] = {
          {"tags", std::move(tags)},
          {"precision", "very-high"},
          {"problem.severity", rule->severity == Severity::error     ? "error"
                               : rule->severity == Severity::warning ? "warning"
                                                                     : "recommendation"}};
    }
    return out;
  }
  std::map<std::string, const RuleInfo*> known_;
  std::map<std::string, std::size_t> indices_;
  json list_ = json::array();
};

json result(const Diagnostic& d, Rules& rules, Texts& texts) {
  const bool unknown = d.verdict == Verdict::unknown;
  json out = {{"ruleId", d.code},
              {"ruleIndex", rules.index(d)},
              {"kind", unknown ? "open" : "fail"},
              {"level", unknown ? "none" : level(d.severity)},
              {"message", text(d.help.empty() ? d.message : d.message + "\n" + d.help)}};
  json primary = json::object();
  if (!d.where.file.empty()) {
    primary["physicalLocation"] = place(d.where, &texts);
  }
  const std::string& key = d.key.canonical.empty() ? d.key.path : d.key.canonical;
  if (!key.empty()) {
    primary["logicalLocations"] =
        json::array({{{"fullyQualifiedName", valid_utf8(key)}, {"kind", "property"}}});
  }
  out["locations"] = json::array();
  if (!primary.empty()) {
    out["locations"].push_back(std::move(primary));
  }
  json related = json::array();
  for (const Note& note : d.related) {
    json item = {{"id", related.size() + 1}};
    item.update(location(note));
    related.push_back(std::move(item));
  }
  for (const UnknownInput& input : d.unknowns) {
    json item = {{"id", related.size() + 1}};
    item.update(location({input.where, fmt::format("`{}` is not known ({}) {}", input.key,
                                                   input.reason, input.detail)}));
    related.push_back(std::move(item));
  }
  if (!related.empty()) {
    out["relatedLocations"] = std::move(related);
  }
  if (!d.flow.empty()) {
    json steps = json::array();
    for (const Note& step : d.flow) {
      steps.push_back({{"location", location(step)}});
    }
    out["codeFlows"] =
        json::array({{{"threadFlows", json::array({{{"locations", std::move(steps)}}})}}});
  }
  json fixes = json::array();
  for (const Fix& one : d.fixes) {
    if (!one.edits.empty()) {  // an empty artifactChanges makes the whole file invalid
      fixes.push_back(fix(one));
    }
  }
  if (!fixes.empty()) {
    out["fixes"] = std::move(fixes);
  }
  if (!d.fingerprint.empty()) {
    out["partialFingerprints"] = {{"shardlint/v1", d.fingerprint}};
  }
  return out;
}

}  // namespace

std::string render_sarif(const Report& report, const Look& look) {
  Rules rules(report);
  Texts texts(report);
  json results = json::array(), notifications = json::array();
  for (const Diagnostic& d : report.diagnostics) {
    if (d.verdict == Verdict::violation || look.unknowns) {
      results.push_back(result(d, rules, texts));
    }
  }
  for (const Suppressed& s : report.suppressed) {
    if (s.diagnostic.verdict == Verdict::violation || look.unknowns) {
      json out = result(s.diagnostic, rules, texts);
      const bool external = s.kind == "baseline" || s.kind == "config";
      json mark = {{"kind", external ? "external" : "inSource"}};
      if (!s.reason.empty()) {
        mark["justification"] = valid_utf8(s.reason);
      }
      out["suppressions"] = json::array({std::move(mark)});
      if (s.kind == "baseline") {
        out["baselineState"] = "unchanged";
      }
      results.push_back(std::move(out));
    }
  }
  for (const Result::Failure& failure : report.errors) {
    notifications.push_back(
        {{"level", "error"}, {"message", text(failure.filename + ": " + failure.message)}});
  }
  const Tool& tool = this_tool();
  json run = {{"tool",
               {{"driver",
                 {{"name", tool.name},
                  {"version", tool.version},
                  {"semanticVersion", tool.version},
                  {"rules", rules.list()}}}}}};
  if (!look.folder.empty()) {
    run["originalUriBaseIds"] = {{"SRCROOT", {{"uri", "file://" + uri(look.folder) + "/"}}}};
  }
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = std::move(results);
  run["invocations"] = json::array({{{"executionSuccessful", look.exit_code != 2},
                                     {"exitCode", look.exit_code},
                                     {"toolExecutionNotifications", std::move(notifications)}}});
  const json out = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", json::array({std::move(run)})}};
  return out.dump(2) + "\n";
}

}  // namespace shardlint
