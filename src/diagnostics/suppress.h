#pragma once
// Comments that keep findings quiet:
//
//   # shardlint: ignore[CKP104] -- converted offline     at a line's end: that line; on a line of
//                                                        its own: the next node (a YAML entry with
//                                                        all below it, a whole command, a
//                                                        statement)
//   # shardlint: disable[CKP104]  ...  enable[CKP104]    the lines between
//   # shardlint: file-ignore[CKP104]                     the file; above its first line of content
//
// Codes or names, separated by commas; there is no form for everything. The text after -- is the
// reason. A finding is quiet when its own place is covered; related places have no say.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint {

enum class CommentSyntax { yaml, shell, python };
// By the file's name; nothing for a language without # comments.
std::optional<CommentSyntax> comment_syntax(std::string_view path);

struct SuppressPolicy {
  // The code of a rule given by code or name; nothing when there is no such rule.
  std::function<std::optional<std::string>(std::string_view)> code_of;
  // Whether a rule takes part in this run: what it did not check cannot be called unused.
  std::function<bool(std::string_view code)> active;
  // Codes that the project does not allow to be suppressed.
  std::function<bool(std::string_view code)> forbidden;
  std::vector<std::string_view> known;  // codes and names, for "did you mean"
  bool require_reason = false;
};

// Moves the findings of this file that a comment covers into `suppressed`, and adds the findings
// about the comments themselves: SUP100 unused, SUP101 unknown rule, SUP102 no reason, SUP103 not
// allowed, SUP104 not understood. `diagnostics` may hold other files' findings too.
void apply_suppressions(const Source& source, CommentSyntax syntax, const SuppressPolicy& policy,
                        std::vector<Diagnostic>& diagnostics, std::vector<Suppressed>& suppressed);

}  // namespace shardlint
