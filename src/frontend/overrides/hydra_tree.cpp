#include "frontend/overrides/hydra_tree.h"

#include <algorithm>
#include <utility>

#include "frontend/overrides/interpolation.h"

namespace shardlint {

const HydraNode* HydraNode::child(std::string_view key) const {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &at->node;
}

HydraNode* HydraNode::child(std::string_view key) {
  return const_cast<HydraNode*>(std::as_const(*this).child(key));
}

HydraNode& HydraNode::make(std::string_view key) {
  if (HydraNode* node = child(key)) {
    return *node;
  }
  return entries.emplace_back(Entry{std::string(key), {}}).node;
}

void HydraNode::erase(std::string_view key) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
}

void HydraNode::set(Value v) {
  entries.clear();
  is_map = false;
  value = {};
  if (const Map* map = v.if_map()) {
    is_map = true;
    for (const auto& [key, item] : *map) {
      HydraNode& node = make(key);
      node.set(item);
      node.origin = origin, node.key_span = key_span, node.value_span = value_span;
    }
  } else {
    value = std::move(v);
  }
}

HydraNode node_of(const Value& value) {
  HydraNode node;
  node.set(value);
  return node;
}

Value value_of(const HydraNode& node) {
  if (!node.is_map) {
    return node.value;
  }
  Map map;
  for (const HydraNode::Entry& entry : node.entries) {
    map.emplace_back(entry.key, value_of(entry.node));
  }
  return map;
}

void merge_node(HydraNode& into, const HydraNode& from) {
  if (!from.is_map) {
    const std::string* text = from.value.if_string();
    const bool missing = text && *text == "???";
    if (!missing || (!into.is_map && into.value.is_null() && into.entries.empty())) {
      into = from;
    }
    return;
  }
  if (!into.is_map) {
    into = HydraNode{};
    into.is_map = true;
  }
  for (const HydraNode::Entry& entry : from.entries) {
    if (HydraNode* node = into.child(entry.key)) {
      const std::string* text = entry.node.value.if_string();
      if (entry.node.is_map || !text || *text != "???") {
        merge_node(*node, entry.node);
      }
    } else {
      into.entries.push_back(entry);
    }
  }
}

const HydraNode* find_node(const HydraNode& root, std::string_view path) {
  const HydraNode* node = &root;
  while (node && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->is_map ? node->child(path.substr(0, dot)) : nullptr;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

namespace {

void flatten(const HydraNode& root, const HydraNode& node, const std::string& path, int depth,
             const std::string& via, Facts& into) {
  if (depth > 60) {
    return;
  }
  const HydraNode* map = node.is_map ? &node : nullptr;
  std::string note = node.note.empty() ? via : node.note;
  Value value = node.value;
  if (!map) {
    Resolved resolved = resolve_at(root, node.value, path);
    if (!resolved.followed.empty() && note.empty()) {
      note = "follows " + resolved.followed;
    }
    map = resolved.map;
    value = std::move(resolved.value);
  }
  if (map && !map->entries.empty()) {
    for (const HydraNode::Entry& entry : map->entries) {
      const std::string deeper = path.empty() ? entry.key : path + "." + entry.key;
      flatten(root, entry.node, deeper, depth + 1, node.is_map ? via : note, into);
    }
    return;
  }
  Fact fact;
  fact.key = path;
  fact.value = map ? Value(Map{}) : std::move(value);
  fact.origin = node.origin;
  fact.key_span = node.key_span;
  fact.value_span = node.value_span;
  fact.note = std::move(note);
  into.facts.push_back(std::move(fact));
}

}  // namespace

void flatten_tree(const HydraNode& root, Facts& into) {
  if (!root.entries.empty()) {
    flatten(root, root, "", 0, "", into);
  }
}

Resolved resolve_node(const HydraNode& root, std::string_view path) {
  const HydraNode* node = find_node(root, path);
  if (!node) {
    return {unknown(Reason::interpolation, std::string(path)), nullptr, ""};
  }
  if (node->is_map) {
    return {Value(Map{}), node, ""};
  }
  return resolve_at(root, node->value, path);
}

}  // namespace shardlint
