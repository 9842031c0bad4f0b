#include "facts/config.h"

#include <algorithm>

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
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

void Config::set(std::string_view key, Step step) {
  auto it = entries_.find(key);
  if (it == entries_.end()) {
    it = entries_.emplace(std::string(key), Entry{}).first;
    for (std::string_view prefix : prefixes(key)) {
      const auto found = below_.find(prefix);
      if (found != below_.end()) {
        ++found->second;
      } else {
        below_.emplace(prefix, 1);
      }
    }
  }
  it->second.chain.push_back(std::move(step));
}

void Config::remove(std::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) {
    return;
  }
  entries_.erase(it);
  for (std::string_view prefix : prefixes(key)) {
    --below_.find(prefix)->second;
  }
}

bool Config::has_prefix(std::string_view prefix) const {
  const auto found = below_.find(prefix);
  return found != below_.end() && found->second > 0;
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> out;
  out.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    out.push_back(key);
  }
  std::sort(out.begin(), out.end());
  return out;
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

Config merge(const std::vector<Facts>& layers) {
  Config config;
  for (const Facts& layer : layers) {
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
    for (const Fact& fact : layer.facts) {
      config.set(fact.key, {fact.value, fact.origin, fact.key_span, fact.value_span, fact.note});
    }
  }
  return config;
}

}  // namespace shardlint
