#include "frontend/overrides/hydra_fields.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace shardlint {
namespace {

bool is(const HydraNode& tree, std::string_view key, const Value& value) {
  return resolve_node(tree, key).value == value;
}

// Roles whose objects verl builds only when it needs them. What hangs on something unknown counts
// as not built.
bool built(const HydraNode& tree, std::string_view key) {
  if (key.starts_with("critic.")) {
    const Value enable = resolve_node(tree, "critic.enable").value;
    return enable == Value(true) ||
           (enable.is_null() && is(tree, "algorithm.adv_estimator", "gae"));
  }
  if (key.starts_with("actor_rollout_ref.ref.")) {
    const bool wanted = is(tree, "actor_rollout_ref.actor.use_kl_loss", true) ||
                        is(tree, "algorithm.use_kl_in_reward", true);
    const Value rank = resolve_node(tree, "actor_rollout_ref.model.lora_rank").value;
    const Value lora = resolve_node(tree, "actor_rollout_ref.model.lora.rank").value;
    const auto none = [](const Value& v) {
      return v == Value(0) || (v.if_unknown() && v.if_unknown()->reason == Reason::interpolation);
    };
    return wanted && none(rank) && none(lora) &&
           is(tree, "actor_rollout_ref.model.lora_adapter_path", Value());
  }
  constexpr std::string_view always[] = {"actor_rollout_ref.actor.",
                                         "actor_rollout_ref.model.",
                                         "actor_rollout_ref.rollout.",
                                         "engine.",
                                         "optim.",
                                         "model.",
                                         "checkpoint.",
                                         "profiler."};
  return std::any_of(std::begin(always), std::end(always),
                     [&](std::string_view start) { return key.starts_with(start); });
}

}  // namespace

std::string unknown_field(const HydraNode& tree, const Schema& schema, std::string_view key,
                          const HasField& has_field) {
  if (!built(tree, key)) {
    return {};
  }
  const HydraNode* node = &tree;
  std::string_view rest = key;
  while (node && node->is_map && !rest.empty()) {
    const std::size_t dot = rest.find('.');
    const std::string_view head = rest.substr(0, dot);
    const HydraNode* target = node->child("_target_");
    const std::string* name = target ? target->value.if_string() : nullptr;
    if (name) {
      const ClassInfo* info = schema.find_class(*name);
      if (!info || info->target != *name) {
        // Re-exported names are found by their last part; a class that is not known says nothing.
        if (!info) {
          return {};
        }
      }
      if (head != "_target_" && !schema.field(*info, head) &&
          !(has_field && has_field(info->name, head))) {
        return fmt::format("`{}` has no field `{}`", info->name, head);
      }
    }
    node = node->child(head);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  return {};
}

}  // namespace shardlint
