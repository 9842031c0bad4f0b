// What a code, a name, a key or an upstream error text means, as Markdown.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnostics/texts.h"
#include "lint/judge.h"
#include "rules/pack.h"
#include "schema/schema.h"
#include "shardlint/lint.h"

namespace shardlint {
namespace {

std::string frameworks_of(const rules::Rule& rule) {
  std::set<std::string> all;
  for (const rules::Case& c : rule.cases) {
    all.insert(c.versions.empty() ? std::string(c.framework)
                                  : fmt::format("{} {}", c.framework, c.versions));
  }
  return join({all.begin(), all.end()}, ", ");
}

// A template without a configuration to fill it from: `{name.key}` is told by its name.
std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) {
      break;
    }
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const std::size_t dot = inside.rfind('.');
    const std::string_view field =
        dot == std::string_view::npos ? std::string_view() : inside.substr(dot + 1);
    out += text.substr(0, open);
    if (field != "origin") {
      out += field == "key" || field == "value" ? inside.substr(0, dot) : inside;
    }
    text.remove_prefix(close + 1);
  }
  return out += text;
}

// The fixes of all cases, each title once; or why there is none.
std::string fixes_of(const rules::Rule& rule) {
  constexpr std::string_view safeties[] = {"safe", "unsafe", "shown only"};
  std::vector<std::string> lines;
  for (const rules::Case& c : rule.cases) {
    for (const rules::FixRow& row : c.fixes) {
      const std::string_view safety = safeties[static_cast<std::size_t>(row.otherwise)];
      std::string line = fmt::format(
          "- {} ({})\n", plain(row.title),
          row.safe.empty() ? safety
                           : fmt::format("safe where `{}`, else {}", row.safe.source, safety));
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
        lines.push_back(std::move(line));
      }
    }
  }
  std::string out = lines.empty() ? "" : "\n## Fix\n\n" + join(lines, "");
  for (const rules::NoFixReason& reason : rules::no_fix_reasons()) {
    if (rule.no_fix == reason.word) {
      out += fmt::format("\n## Fix\n\nThere is none: {}.\n", reason.text);
    }
  }
  return out;
}

std::string describe(const rules::Rule& rule) {
  std::string out =
      fmt::format("# {} {}\n\n{}\n\n{}\n", rule.id, rule.name, rule.summary, trim(rule.rationale));
  constexpr std::string_view severities[] = {"info", "warning", "error"};
  out += fmt::format("\nSeverity: {}. Applies to: {}.\n",
                     severities[static_cast<std::size_t>(rule.severity)], frameworks_of(rule));
  if (!rule.help.empty()) {
    out += fmt::format("\n{}\n", plain(rule.help));
  }
  out += fixes_of(rule);
  out += "\n## When\n\n";
  for (const rules::Case& c : rule.cases) {
    out += fmt::format("- {}{}{}: ", c.framework, c.scope.empty() ? "" : ", ", c.scope);
    if (!c.when.empty()) {
      out += fmt::format("where `{}`, ", c.when.source);
    }
    out += fmt::format("`{}` must hold", c.require.source);
    for (const rules::EvidenceRow& row : c.evidence) {
      out += fmt::format(" ({} {} {}:{})", row.repo, row.commit, row.path, row.lines);
    }
    out += "\n";
  }
  const auto shown = [&](std::string_view expect, std::string_view title) {
    bool first = true;
    for (const rules::Example& e : rule.examples) {
      if (e.expect != expect) {
        continue;
      }
      out += first ? fmt::format("\n## {}\n\n", title) : "";
      first = false;
      std::string text;
      for (const rules::Text word : e.argv) {
        text += (text.empty() ? "" : " ") + std::string(word);
      }
      for (const rules::Pair& pair : e.values) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "\n    ", pair.key, pair.value);
      }
      for (const rules::Pair& pair : e.env) {
        text += fmt::format("\n    (environment) {}={}", pair.key, pair.value);
      }
      out += fmt::format("    {}\n", text);
    }
  };
  shown("fail", "Fails");
  shown("pass", "Passes");
  return out;
}

std::string describe(const FindingText& text) {
  std::string out = fmt::format("# {} {}\n\n{}\n", text.code, text.name, text.summary);
  for (const std::string_view more : {text.rationale, text.help}) {
    out += more.empty() ? "" : fmt::format("\n{}\n", more);
  }
  return out;
}

std::string describe_key(const Schema& schema, std::string_view name, const rules::RuleSet& rules) {
  std::string out;
  const Key* key = schema.find(name);
  if (!key) {
    const auto it =
        std::find_if(schema.options().begin(), schema.options().end(), [&](const Option& option) {
          return std::find(option.flags.begin(), option.flags.end(), name) != option.flags.end();
        });
    if (it == schema.options().end()) {
      return out;
    }
    key = schema.find(it->dest);
    if (!key) {
      return out;
    }
  }
  out += fmt::format("# {} ({} {})\n\nType: {}{}.", key->name, schema.framework(), schema.version(),
                     kind_name(key->type.kind), key->type.optional ? ", may be null" : "");
  if (!key->choices.empty()) {
    out += fmt::format(" One of: {}.", fmt::join(key->choices, ", "));
  }
  const Value fallback = schema.default_of(*key);
  out += fmt::format(" Default: {}.\n", fallback.is_unknown() ? "not known" : fallback.text());
  if (const auto flag = schema.flag_of(key->name); !flag.empty()) {
    out += fmt::format("Flag: `{}`.\n", flag);
  }
  if (!key->anchor.empty()) {
    out += fmt::format("Defined in {} {} {}.\n", schema.repository(), schema.commit(), key->anchor);
  }
  std::set<std::string> readers;
  for (const rules::Rule& rule : rules.rules) {
    for (const rules::Case& c : rule.cases) {
      for (const rules::Expr* expr : {&c.when, &c.require}) {
        const auto keys = rules::keys_of(*expr);
        if (c.framework == schema.framework() &&
            std::find(keys.begin(), keys.end(), key->name) != keys.end()) {
          readers.insert(fmt::format("{} {}", rule.id, rule.name));
        }
      }
    }
  }
  if (!readers.empty()) {
    out += fmt::format("\nRead by: {}.\n", fmt::join(readers, ", "));
  }
  return out;
}

}  // namespace

std::optional<std::string> explain(std::string_view what) {
  const rules::RuleSet& rules = rules::builtin_rules_with_examples();
  if (const rules::Rule* rule = rules.find(what)) {
    return describe(*rule);
  }
  if (const FindingText* text = find_finding_text(what)) {
    return describe(*text);
  }
  std::string out;
  for (const std::string_view framework : Schema::frameworks()) {
    const std::string key = describe_key(*Schema::get(framework), what, rules);
    out += (out.empty() || key.empty() ? "" : "\n") + key;
  }
  if (!out.empty()) {
    return out;
  }
  // An error text of upstream holds the rule's piece of it, or is a piece of that.
  for (const rules::Rule& rule : rules.rules) {
    for (const rules::Text text : rule.runtime_errors) {
      const bool inside = what.find(text) != std::string_view::npos ||
                          (what.size() >= 12 && text.find(what) != std::string_view::npos);
      if (inside) {
        out += (out.empty() ? "" : "\n") + describe(rule);
        break;
      }
    }
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::vector<RuleInfo> list_rules(const Options& options) {
  const RuleBook book(options);
  std::vector<RuleInfo> out;
  for (const rules::Rule& rule : book.rules().rules) {
    if (!book.selected(rule.id, rule.name)) {
      continue;
    }
    RuleInfo info{std::string(rule.id),
                  std::string(rule.name),
                  std::string(rule.summary),
                  std::string(rule.rationale),
                  std::string(rule.help),
                  std::string(rule.category),
                  "",
                  rule.severity,
                  {},
                  {}};
    info.tags.assign(rule.tags.begin(), rule.tags.end());
    std::set<std::string> frameworks;
    for (const rules::Case& c : rule.cases) {
      frameworks.insert(c.versions.empty() ? std::string(c.framework)
                                           : fmt::format("{} {}", c.framework, c.versions));
    }
    info.frameworks.assign(frameworks.begin(), frameworks.end());
    out.push_back(std::move(info));
  }
  std::sort(out.begin(), out.end(),
            [](const RuleInfo& a, const RuleInfo& b) { return a.code < b.code; });
  return out;
}

}  // namespace shardlint
