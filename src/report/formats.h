#pragma once
// The formats, one file each. All take sorted findings and give the same bytes on every run.

#include <string>

#include "report/report.h"

namespace shardlint {

std::string render_full(const Report& report, const Look& look);        // carets, for people
std::string render_concise(const Report& report, const Look& look);     // path:line:col: one line
std::string render_grouped(const Report& report, const Look& look);     // one heading a file
std::string render_json(const Report& report, const Look& look);        // docs/json-output.md
std::string render_json_lines(const Report& report, const Look& look);  // one finding a line
std::string render_sarif(const Report& report, const Look& look);       // SARIF 2.1.0
std::string render_github(const Report& report, const Look& look);      // workflow commands
std::string render_gitlab(const Report& report, const Look& look);      // code quality report
std::string render_junit(const Report& report, const Look& look);       // a suite a file
std::string render_rdjson(const Report& report, const Look& look);      // reviewdog
std::string render_checkstyle(const Report& report, const Look& look);  // checkstyle 4.3 XML
std::string render_markdown(const Report& report, const Look& look);    // job summaries

}  // namespace shardlint
