#include "lint/targets.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/schema.h"

namespace shardlint {
namespace {

bool names(const std::vector<std::string>& targets, const std::string& framework) {
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
    return target.starts_with(framework + "==");
  });
}

template <typename T>
void sort_unique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

const Options& PinnedOptions::of(const std::string& path) {
  if (!options_.pins) {
    return options_;
  }
  const Pins& found = finder_.find(path);
  notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
  sort_unique(notes_);
  std::string key;
  for (const Pin& pin : found.pins) {
    if (!names(options_.targets, pin.framework)) {
      key += fmt::format("{}=={} {}\n", pin.framework, pin.version, pin.place);
    }
  }
  if (key.empty()) {
    return options_;
  }
  const auto [variant, fresh] = variants_.try_emplace(key, options_);
  Options& out = variant->second;
  for (const Pin& pin : found.pins) {
    if (fresh && !names(options_.targets, pin.framework)) {
      const std::string target = fmt::format("{}=={}", pin.framework, pin.version);
      out.targets.push_back(target);
      out.target_places[target] = pin.place;
    }
  }
  return out;
}

std::vector<Target> targets_of(const ReadFile& read, const Options& options) {
  std::vector<Target> out;
  for (const Unit& unit : read.units) {
    const std::string& framework = unit.config.framework;
    if (const Schema* schema = Schema::get(framework, unit.version)) {
      const auto place = options.target_places.find(fmt::format("{}=={}", framework, unit.version));
      out.push_back({framework, std::string(schema->version()), unit.version,
                     place == options.target_places.end() ? "" : place->second});
    }
  }
  sort_unique(out);
  return out;
}

void sort_targets(Result& result) {
  sort_unique(result.targets);
  sort_unique(result.notes);
}

}  // namespace shardlint
