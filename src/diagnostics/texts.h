#pragma once
// What the findings that are no rules mean, by code: from rules/text/en.yaml, which is compiled in.

#include <span>
#include <string_view>

namespace shardlint {

struct FindingText {
  std::string_view code, name, summary;
  std::string_view rationale, help;  // may be empty
};

std::span<const FindingText> finding_texts();  // sorted by code
const FindingText* find_finding_text(std::string_view code_or_name);

}  // namespace shardlint
