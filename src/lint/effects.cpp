#include "lint/effects.h"

#include <algorithm>

#include "base/strings.h"

namespace shardlint {

std::string_view effect_name(Effect effect) {
  switch (effect) {
    case Effect::memory:
      return "memory";
    case Effect::communication:
      return "communication";
    case Effect::numerics:
      return "numerics";
    case Effect::checkpoints:
      return "checkpoints";
    case Effect::nothing:
      return "nothing";
  }
  return "nothing";
}

const EffectRow* effect_of(std::string_view key) {
  const std::string_view last = key.substr(key.rfind('.') + 1);
  const auto fits = [&](std::string_view pattern) {
    return glob_match(pattern, pattern.find('.') == std::string_view::npos ? last : key);
  };
  for (const EffectRow& row : effect_rows()) {
    if (std::any_of(row.keys.begin(), row.keys.end(), fits)) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace shardlint
