#include "facts/config.h"

#include <algorithm>
#include <iterator>

namespace shardlint {
namespace {

// "a.b.c" -> "a", "a.b"
std::vector<std::string_view> prefixes(std::string_view key) {
  std::vector<std::string_view> out;
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos;
       dot = key.find('.', dot + 1)) {
    out.push_back(key.substr(0, dot));
  }
  return out;
}

}  // namespace

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::default_value:
      return "default";
    case Origin::set:
      return "set";
    case Origin::override_value:
      return "override";
    case Origin::environment:
      return "env";
    case Origin::computed:
    case Origin::rewritten:
      return "computed";
  }
  return "set";
}

const Step* Entry::written() const {
  for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
    if (step->key_span || step->value_span) {
      return &*step;
    }
  }
  return nullptr;
}

const Entry* Config::find(std::string_view key) const {
  if (!own_.entries.empty()) {
    if (const auto it = own_.entries.find(key); it != own_.entries.end()) {
      return &it->second;
    }
  }
  if (frozen_) {
    if (const auto it = frozen_->entries.find(key); it != frozen_->entries.end()) {
      return &it->second;
    }
  }
  return nullptr;
}

Entry& Config::entry(std::string_view key) {
  if (const auto it = own_.entries.find(key); it != own_.entries.end()) {
    return it->second;
  }
  Entry& fresh = own_.entries.emplace(std::string(key), Entry{}).first->second;
  if (frozen_) {
    if (const auto it = frozen_->entries.find(key); it != frozen_->entries.end()) {
      fresh = it->second;
      return fresh;
    }
  }
  for (std::string_view prefix : prefixes(key)) {
    const auto found = own_.below.find(prefix);
    if (found != own_.below.end()) {
      ++found->second;
    } else {
      own_.below.emplace(prefix, 1);
    }
  }
  return fresh;
}

void Config::set(std::string_view key, Step step) {
  entry(key).chain.push_back(std::move(step));
}

void Config::remove(std::string_view key) {
  if (!find(key)) {
    return;
  }
  if (frozen_) {  // nothing is shared any longer
    for (const auto& [name, value] : frozen_->entries) {
      own_.entries.emplace(name, value);
    }
    for (const auto& [prefix, count] : frozen_->below) {
      own_.below[prefix] += count;
    }
    frozen_ = nullptr;
  }
  own_.entries.erase(own_.entries.find(key));
  for (std::string_view prefix : prefixes(key)) {
    --own_.below.find(prefix)->second;
  }
}

bool Config::has_prefix(std::string_view prefix) const {
  const auto any_in = [&](const Table& table) {
    const auto found = table.below.find(prefix);
    return found != table.below.end() && found->second > 0;
  };
  return (!own_.below.empty() && any_in(own_)) || (frozen_ && any_in(*frozen_));
}

std::vector<std::string_view> Config::keys() const {
  std::vector<std::string_view> own;
  own.reserve(own_.entries.size());
  for (const auto& [key, entry] : own_.entries) {
    own.push_back(key);
  }
  std::sort(own.begin(), own.end());
  if (!frozen_) {
    return own;
  }
  std::vector<std::string_view> out;
  out.reserve(own.size() + frozen_->sorted.size());
  std::set_union(own.begin(), own.end(), frozen_->sorted.begin(), frozen_->sorted.end(),
                 std::back_inserter(out));
  return out;
}

void Config::freeze() {
  if (frozen_) {
    return;
  }
  own_.sorted = keys();
  frozen_ = std::make_shared<const Table>(std::move(own_));
  own_ = {};
}

Span Config::place(std::string_view key) const {
  if (const Entry* entry = find(key)) {
    if (const Step* step = entry->written()) {
      return step->value_span && step->value_span.begin < step->value_span.end ? step->value_span
                                                                               : step->key_span;
    }
  }
  for (std::string_view section = key;; section = section.substr(0, section.rfind('.'))) {
    if (const auto it = sections.find(std::string(section)); it != sections.end()) {
      return it->second;
    }
    if (section.find('.') == std::string_view::npos) {
      return anchor;
    }
  }
}

Span Config::key_place(std::string_view key) const {
  if (const Entry* entry = find(key)) {
    if (const Step* step = entry->written(); step && step->key_span) {
      return step->key_span;
    }
  }
  return place(key);
}

Config merge(std::vector<Facts> layers) {
  Config config;
  for (Facts& layer : layers) {
    if (!layer.framework.empty()) {
      config.framework = layer.framework;
    }
    if (!layer.instance.empty()) {
      config.instance = layer.instance;
    }
    if (!layer.base.empty()) {
      config.base = layer.base;
    }
    config.closed = config.closed || layer.closed;
    if (layer.anchor) {
      config.anchor = layer.anchor;
    }
    for (const auto& [section, span] : layer.sections) {
      config.sections[section] = span;
    }
    for (Fact& fact : layer.facts) {
      config.set(fact.key, {std::move(fact.value), fact.origin, fact.key_span, fact.value_span,
                            std::move(fact.note)});
    }
  }
  return config;
}

}  // namespace shardlint
