#pragma once
// What a key changes in a run: data of rules/schema/effects.yaml.

#include <span>
#include <string_view>

namespace shardlint {

enum class Effect { memory, communication, numerics, checkpoints, nothing };
std::string_view effect_name(Effect effect);

struct EffectRow {
  std::span<const Effect> effects;
  std::string_view what;                   // for people: "batch and sequence sizes"
  std::span<const std::string_view> keys;  // patterns, `*` for anything
};

// In the order in which they are asked.
std::span<const EffectRow> effect_rows();
// The row of a key; null when no row names it.
const EffectRow* effect_of(std::string_view key);

}  // namespace shardlint
