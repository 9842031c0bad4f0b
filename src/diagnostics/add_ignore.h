#pragma once
// Writing suppression comments: `--add-ignore`.

#include <optional>
#include <string>
#include <string_view>

#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint {

// The edit that puts `# shardlint: ignore[CODE] -- reason` where it covers the finding: at the end
// of its line, into a comment that is there already, or above the statement when the line cannot
// end in a comment. Nothing for files without # comments.
std::optional<Fix> ignore_comment(const Diagnostic& finding, const Source& source,
                                  std::string_view reason);

}  // namespace shardlint
