#include "frontend/yaml/flatten.h"

#include <fmt/format.h>

namespace shardlint::yaml {

std::string line_of(const Node& node) {
  return fmt::format("line {}", node.span.source->line_of(node.span.begin));
}

std::string key_text(const Node& key) {
  return key.is_scalar() ? std::string(key.scalar()) : std::string(key.real().span.text());
}

Fact fact_of(const Scope& scope, const Pair& pair, const std::string& path, const Node& mapping) {
  Fact fact;
  fact.key = path;
  const Evaluated found = evaluate(scope, *pair.value, path);
  fact.value = found.value;
  fact.key_span = pair.key->span;
  fact.value_span = pair.value->span;
  if (found.from) {
    fact.note = fmt::format("from {}", line_of(*found.from));
  } else if (pair.value->kind == Node::Kind::alias) {
    fact.note = fmt::format("alias of &{}, {}", pair.value->text, line_of(pair.value->real()));
  } else if (pair.value->parent != &mapping.real()) {
    fact.note = fmt::format("merged into {}", line_of(mapping));
  }
  return fact;
}

void flatten(const Scope& scope, const Node& mapping, const std::string& prefix, Facts& into,
             const Special& special) {
  for (const Pair& pair : mapping.entries()) {
    const std::string path =
        prefix.empty() ? key_text(*pair.key) : fmt::format("{}.{}", prefix, key_text(*pair.key));
    if (pair.value->is_mapping()) {
      into.sections.emplace(path, pair.key->span);
    }
    if (special && special(pair, path, into)) {
      continue;
    }
    if (pair.value->is_mapping() && !pair.value->entries().empty()) {
      flatten(scope, *pair.value, path, into, special);
    } else {
      into.facts.push_back(fact_of(scope, pair, path, mapping));
    }
  }
}

}  // namespace shardlint::yaml
