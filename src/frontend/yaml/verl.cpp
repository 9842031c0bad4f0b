// verl: files that Hydra composes. What their `defaults:` bring is not here, so a file with a
// defaults list, or with a part of the tree, is open. The files of the config groups (engine/*.yaml
// and so on) have no root of their own and are not read.

#include <algorithm>

#include "base/files.h"
#include "frontend/yaml/dialects.h"

namespace shardlint::yaml {
namespace {

constexpr std::string_view trees[] = {"ppo_trainer", "ppo_megatron_trainer", "sft_trainer_engine"};

bool is_tree(std::string_view name) {
  return std::find(std::begin(trees), std::end(trees), name) != std::end(trees);
}

bool has(const Node& root, std::initializer_list<std::string_view> mappings) {
  return std::all_of(mappings.begin(), mappings.end(),
                     [&](std::string_view key) { return has_mapping(root, key); });
}

// The text of the entries of the defaults list, "key: value" ones as "key=value".
std::vector<std::pair<std::string, const Node*>> defaults_of(const Node& root) {
  std::vector<std::pair<std::string, const Node*>> out;
  const Node* list = root.find("defaults");
  for (const Node* item : list ? list->items() : std::vector<const Node*>()) {
    if (item->is_scalar()) {
      out.emplace_back(item->scalar(), item);
    } else if (item->is_mapping() && item->entries().size() == 1) {
      const Pair& pair = item->entries().front();
      out.emplace_back(key_text(*pair.key) + "=" + std::string(pair.value->scalar()), pair.value);
    }
  }
  return out;
}

Certainty recognise(const Node& root, std::string_view) {
  if (has_mapping(root, "actor_rollout_ref")) {
    return Certainty::sure;
  }
  for (const auto& [entry, node] : defaults_of(root)) {
    if (is_tree(entry)) {
      return Certainty::sure;
    }
  }
  const Node* engine = root.find("engine");
  const Node* target = engine && engine->is_mapping() ? engine->find("_target_") : nullptr;
  const bool engine_of_verl = target && target->scalar().starts_with("verl.");
  if (engine_of_verl || (root.find("defaults") && has(root, {"data", "trainer"}))) {
    return Certainty::sure;
  }
  return Certainty::none;
}

// A composed tree has what the group files bring.
bool composed(const Node& root) {
  if (root.find("defaults")) {
    return false;
  }
  const auto made = [](const Node* node) { return node && node->find("_target_"); };
  const Node* roles = root.find("actor_rollout_ref");
  if (roles && has(root, {"data", "trainer", "algorithm"})) {
    return has(*roles, {"actor", "rollout", "ref", "model"}) && made(roles->find("actor"));
  }
  return has(root, {"data", "trainer", "model", "engine", "optim"}) && made(root.find("engine"));
}

// Which engine a composed tree was composed for: its actor's class tells.
void add_engine(const Node& root, Facts& facts) {
  const Node* roles = root.find("actor_rollout_ref");
  const Node* actor = roles ? roles->find("actor") : nullptr;
  const Node* target = actor ? actor->find("_target_") : nullptr;
  if (!target) {
    return;
  }
  constexpr std::pair<std::string_view, std::string_view> engines[] = {
      {"TorchTitan", "torchtitan"}, {"VeOmni", "veomni"}, {"Mcore", "megatron"}, {"FSDP", "dp"}};
  for (const auto& [part, engine] : engines) {
    if (target->scalar().find(part) != std::string_view::npos) {
      facts.facts.push_back({"model_engine",
                             engine,
                             {},
                             {},
                             Origin::default_value,
                             "the engine of the actor's class"});
      return;
    }
  }
}

std::string base_of(const Node& root, std::string_view path) {
  std::string base;
  for (const auto& [entry, node] : defaults_of(root)) {
    if (is_tree(entry)) {
      base = entry;
    }
  }
  const std::string file = file_name(path);
  const std::string stem = file.substr(0, file.rfind('.'));
  return base.empty() && is_tree(stem) ? stem : base;
}

void read(const Node& root, std::string_view path, Reading& into) {
  Facts facts;
  facts.framework = "verl";
  facts.closed = composed(root);
  facts.base = base_of(root, path);
  if (!root.entries().empty()) {
    facts.anchor = root.entries().front().key->span;
  }
  // The choice of a group in the defaults list is a key that others read.
  for (const auto& [entry, node] : defaults_of(root)) {
    for (const std::string_view start : {"model_engine=", "override model_engine="}) {
      if (entry.starts_with(start)) {
        facts.facts.push_back({"model_engine", std::string_view(entry).substr(start.size()),
                               node->span, node->span, Origin::set, "chosen in the defaults list"});
      }
    }
  }
  if (facts.closed) {
    add_engine(root, facts);
  }
  const Scope scope{&root, Mode::omegaconf, true, facts.closed};
  flatten(scope, root, "", facts, [](const Pair& pair, const std::string& key, Facts&) {
    (void)pair;
    return key == "defaults" || key == "hydra";
  });
  // ??? marks what somebody must still give. A tree with it is completed elsewhere, and so may be
  // what it leaves null.
  const auto left_out = [](const Fact& fact) {
    const Unknown* value = fact.value.if_unknown();
    return value && value->reason == Reason::absent;
  };
  if (std::any_of(facts.facts.begin(), facts.facts.end(), left_out)) {
    facts.closed = false;
    const auto referred = [](const Fact& fact) {  // null at the end of a reference
      const Source* source = fact.key_span.source;
      return source && source->text(fact.key_span.end, fact.value_span.end).find('$') !=
                           std::string_view::npos;
    };
    std::erase_if(facts.facts,
                  [&](const Fact& fact) { return fact.value.is_null() && !referred(fact); });
  }
  into.configurations.push_back(std::move(facts));
}

Repeats repeats(const Node&) {
  return Repeats::refused;
}

}  // namespace

const Dialect verl_dialect{"verl", recognise, read, repeats};

}  // namespace shardlint::yaml
