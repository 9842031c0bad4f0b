#include "lint/suppressions.h"

#include <algorithm>

#include "diagnostics/suppress.h"

namespace shardlint {
namespace {

// Findings of the front ends and the catalogue have no rule file; their codes begin so.
constexpr std::string_view builtin_prefixes[] = {"ARG", "BRG", "CKD", "KEY",
                                                 "PYC", "SHL", "VRL", "YML"};

bool looks_builtin(std::string_view rule) {
  return rule.size() == 6 &&
         std::any_of(std::begin(builtin_prefixes), std::end(builtin_prefixes),
                     [&](std::string_view prefix) { return rule.starts_with(prefix); }) &&
         std::all_of(rule.begin() + 3, rule.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void obey_comments(const Source& source, const RuleBook& book, const Options& options,
                   std::vector<Diagnostic>& diagnostics, std::vector<Suppressed>& suppressed) {
  const std::optional<CommentSyntax> syntax = comment_syntax(source.name());
  if (!options.suppressions || source.text().find("shardlint:") == std::string_view::npos) {
    return;
  }
  SuppressPolicy policy;
  policy.code_of = [&](std::string_view rule) -> std::optional<std::string> {
    if (const rules::Rule* known = book.rules().find(rule)) {
      return std::string(known->id);
    }
    for (const Diagnostic& d : diagnostics) {
      if (d.code == rule || (!d.name.empty() && d.name == rule)) {
        return d.code;
      }
    }
    return looks_builtin(rule) ? std::optional<std::string>(rule) : std::nullopt;
  };
  policy.active = [&](std::string_view code) {
    const rules::Rule* known = book.rules().find(code);
    return book.selected(code, known ? known->name : "");
  };
  policy.forbidden = [&](std::string_view code) {
    const rules::Rule* known = book.rules().find(code);
    return std::any_of(
        options.not_ignorable.begin(), options.not_ignorable.end(), [&](const std::string& rule) {
          return rule == "ALL" || code.starts_with(rule) || (known && known->name == rule);
        });
  };
  for (const rules::Rule& rule : book.rules().rules) {
    policy.known.push_back(rule.id);
    policy.known.push_back(rule.name);
  }
  policy.require_reason = options.require_reason;
  apply_suppressions(source, syntax.value_or(CommentSyntax::shell), policy, diagnostics,
                     suppressed);
}

}  // namespace shardlint
