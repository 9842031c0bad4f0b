#include "lsp/messages.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "diagnostics/add_ignore.h"
#include "report/escape.h"

namespace shardlint::lsp {
namespace {

json position(const Source& source, std::uint32_t offset, Encoding encoding) {
  const LinePosition at = to_line_position(source, offset, encoding);
  return {{"line", at.line}, {"character", at.character}};
}

int severity_number(const Diagnostic& finding) {
  const int information = 3;
  if (finding.severity == Severity::error) {
    return 1;
  }
  return finding.severity == Severity::warning ? 2 : information;
}

// Where a finding stands in `path`.
Location place_in(const Diagnostic& finding, const std::string& path) {
  if (finding.where.file == path) {
    return finding.where;
  }
  const auto here = std::find_if(finding.related.begin(), finding.related.end(),
                                 [&](const Note& note) { return note.where.file == path; });
  return here != finding.related.end() ? here->where : Location{path, {}, {}};
}

std::string text_of(const Diagnostic& finding) {
  std::string text = finding.message;
  for (const UnknownInput& input : finding.unknowns) {
    text += fmt::format("\nunknown: `{}` ({})", input.key, input.reason);
  }
  if (!finding.help.empty()) {
    text += "\nhelp: " + finding.help;
  }
  return valid_utf8(text);
}

}  // namespace

const Source* Texts::find(const std::string& path) {
  if (const Source* source = sources_.find(path)) {
    return source;
  }
  if (const auto it = open_.find(path); it != open_.end()) {
    return &sources_.add(path, it->second);
  }
  std::optional<std::string> text = RealDisk().read(path);
  return text ? &sources_.add(path, std::move(*text)) : nullptr;
}

json Texts::range(const Location& where) {
  const Source* source = find(where.file);
  const Source nothing("", "");
  const Source& text = source ? *source : nothing;
  return {{"start", position(text, where.begin.offset, encoding_)},
          {"end", position(text, where.end.offset, encoding_)}};
}

json Texts::location(const Location& where) {
  return {{"uri", uri_of_path(where.file)}, {"range", range(where)}};
}

json diagnostic_json(const Diagnostic& finding, const std::string& path, Texts& texts) {
  json out = {{"range", texts.range(place_in(finding, path))},
              {"severity", severity_number(finding)},
              {"code", finding.code},
              {"source", "shardlint"},
              {"message", text_of(finding)}};
  if (!finding.url.empty()) {
    out["codeDescription"] = {{"href", finding.url}};
  }
  for (const std::vector<Note>* notes : {&finding.related, &finding.flow}) {
    for (const Note& note : *notes) {
      if (!note.where.file.empty()) {
        out["relatedInformation"].push_back(
            {{"location", texts.location(note.where)}, {"message", valid_utf8(note.text)}});
      }
    }
  }
  return out;
}

json workspace_edit(const Fix& fix, Texts& texts) {
  json changes = json::object();
  for (const Edit& edit : fix.edits) {
    changes[uri_of_path(edit.where.file)].push_back(
        {{"range", texts.range(edit.where)}, {"newText", valid_utf8(edit.text)}});
  }
  return {{"changes", std::move(changes)}};
}

void add_quick_fixes(json& actions, const Diagnostic& finding, const json& shown,
                     const std::string& path, Texts& texts) {
  for (const Fix& fix : finding.fixes) {
    if (fix.safety != Safety::display) {
      actions.push_back({{"title", fmt::format("{} ({})", fix.title, finding.code)},
                         {"kind", "quickfix"},
                         {"diagnostics", json::array({shown})},
                         {"isPreferred", fix.safety == Safety::safe},
                         {"edit", workspace_edit(fix, texts)}});
    }
  }
  const Source* source = texts.find(path);
  if (!source || finding.where.file != path) {
    return;
  }
  if (const std::optional<Fix> quiet = ignore_comment(finding, *source, "")) {
    actions.push_back({{"title", fmt::format("Ignore {} here", finding.code)},
                       {"kind", "quickfix"},
                       {"diagnostics", json::array({shown})},
                       {"edit", workspace_edit(*quiet, texts)}});
  }
}

}  // namespace shardlint::lsp
