// Stands in for src/lint.cpp until that exists, so that the edge can be built and tested.
#include "shardlint/lint.h"

namespace shardlint {

Result lint(std::span<const std::string>, const Options&) {
  return {};
}
Result lint(std::string_view, std::string_view, const Options&) {
  return {};
}
Result lint_arguments(std::span<const std::string>, const Options&) {
  return {};
}
std::optional<std::string> explain(std::string_view) {
  return std::nullopt;
}
std::vector<RuleInfo> list_rules(const Options&) {
  return {};
}

}  // namespace shardlint
