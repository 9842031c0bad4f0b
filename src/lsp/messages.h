#pragma once
// Findings as the protocol's JSON. Included by this room's .cpp files only.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lsp/convert.h"
#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint::lsp {

using json = nlohmann::json;

// The open documents by path, and what else findings point at, read from disk once a request.
class Texts {
 public:
  Texts(const std::map<std::string, std::string>& open, Encoding encoding)
      : open_(open), encoding_(encoding) {}

  const Source* find(const std::string& path);  // null: it cannot be read
  json range(const Location& where);            // of a file that cannot be read: its start
  json location(const Location& where);
  Encoding encoding() const { return encoding_; }

 private:
  const std::map<std::string, std::string>& open_;
  Encoding encoding_;
  Sources sources_;
};

// The finding as it is shown in `path`. One whose place is in another file (a script that sources
// this one) stands at the first related place in `path`, else at its start.
json diagnostic_json(const Diagnostic& finding, const std::string& path, Texts& texts);

json workspace_edit(const Fix& fix, Texts& texts);

// Quick fixes of one finding, and the comment that keeps it quiet.
void add_quick_fixes(json& actions, const Diagnostic& finding, const json& shown,
                     const std::string& path, Texts& texts);

}  // namespace shardlint::lsp
