#include "rules/fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/edit_distance.h"

namespace shardlint::rules {

Fields::Fields(const yaml::Node& node, std::string what, Pool& pool, std::vector<Fault>& faults)
    : node_(node), what_(std::move(what)), pool_(pool), faults_(faults) {
  if (!node.is_mapping()) {
    fault(node, fmt::format("{} must be a mapping", what_));
  }
}

Fields::~Fields() {
  for (const yaml::Pair& pair : node_.entries()) {
    const std::string_view name = pair.key->scalar();
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) {
      continue;
    }
    const std::string_view close = nearest(name, known_);
    fault(*pair.key, close.empty() ? fmt::format("{} has no field `{}`", what_, name)
                                   : fmt::format("{} has no field `{}`; did you mean `{}`?", what_,
                                                 name, close));
  }
}

void Fields::fault(const yaml::Node& at, std::string message) {
  faults_.push_back({locate(at.span), std::move(message)});
}

const yaml::Node* Fields::child(std::string_view name) {
  known_.push_back(name);
  return node_.is_mapping() ? node_.find(name) : nullptr;
}

const yaml::Node* Fields::required(std::string_view name) {
  const yaml::Node* found = child(name);
  if (!found && node_.is_mapping()) {
    fault(node_, fmt::format("{} needs the field `{}`", what_, name));
  }
  return found;
}

std::string_view scalar_text(const yaml::Node& node, Pool& pool, std::vector<Fault>& faults) {
  if (!node.is_scalar() && !node.is_null()) {
    faults.push_back({locate(node.span), "expected text"});
    return {};
  }
  return pool.keep(
      std::string(node.is_null() ? std::string_view(node.real().text) : node.scalar()));
}

std::string_view Fields::text(std::string_view name) {
  const yaml::Node* found = child(name);
  return found ? scalar_text(*found, pool_, faults_) : std::string_view();
}

std::string_view Fields::required_text(std::string_view name) {
  const yaml::Node* found = required(name);
  return found ? scalar_text(*found, pool_, faults_) : std::string_view();
}

std::vector<std::string_view> Fields::texts(std::string_view name) {
  std::vector<std::string_view> out;
  const yaml::Node* found = child(name);
  if (!found) {
    return out;
  }
  if (!found->is_sequence()) {
    return {scalar_text(*found, pool_, faults_)};
  }
  for (const yaml::Node* item : found->items()) {
    out.push_back(scalar_text(*item, pool_, faults_));
  }
  return out;
}

std::size_t Fields::choice(std::string_view name, std::initializer_list<std::string_view> choices,
                           std::size_t otherwise) {
  const yaml::Node* found = child(name);
  if (!found) {
    return otherwise;
  }
  const std::string_view value = found->scalar();
  const auto it = std::find(choices.begin(), choices.end(), value);
  if (it == choices.end()) {
    std::string list;
    for (const std::string_view choice : choices) {
      list += (list.empty() ? "" : ", ") + std::string(choice);
    }
    fault(*found, fmt::format("`{}` must be one of {}; got `{}`", name, list, value));
    return otherwise;
  }
  return static_cast<std::size_t>(it - choices.begin());
}

}  // namespace shardlint::rules
