#include "verify/plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/core.h>

#include "base/error.h"
#include "base/strings.h"
#include "verify/plan_parts.h"
#include "verify/settings.h"

namespace shardlint::verify {
namespace {

constexpr Preset presets[] = {
    {"tiny", 2, 128, 2, 256, 128, 2},
    {"small", 4, 1024, 8, 8192, 512, 4},
    {"539m", 8, 2048, 16, 32768, 1024, 4},
};

std::string digest_of(const Config& config) {
  std::string text = config.framework + "\n" + config.instance + "\n";
  for (const std::string_view key : config.keys()) {
    text += std::string(key) + "=" + config.find(key)->value().text() + "\n";
  }
  return fmt::format("fnv1a64:{:016x}", stable_hash(text));
}

}  // namespace

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets) {
    if (preset.name == lower(name)) {
      return &preset;
    }
  }
  return nullptr;
}

Planned make_plan(const Config* config, const Wishes& wishes) {
  Planned out;
  Plan& plan = out.plan;
  const Preset* preset = find_preset(wishes.preset);
  if (!preset) {
    throw Error("preset '" + wishes.preset + "': expected tiny, small or 539m");
  }
  plan.layers = preset->layers;
  plan.hidden = preset->hidden;
  plan.heads = preset->heads;
  plan.vocab = preset->vocab;
  plan.sequence = preset->sequence;
  plan.micro_batch = preset->micro_batch;
  plan.ranks = wishes.ranks;
  plan.mode = wishes.processes ? "processes" : "threads";
  plan.seed = wishes.seed;
  plan.compare = wishes.compare;
  plan.checkpoint_directory = wishes.save;
  plan.keep_checkpoint = !wishes.save.empty();
  if (wishes.steps > 0) {
    plan.steps = wishes.steps;
  }
  if (config) {
    Settings settings(config, wishes.scope);
    out.framework = config->framework;
    out.anchor = locate(config->anchor);
    out.digest = digest_of(*config);
    choose_strategy(settings, config, out);
    const Sizes sizes = leave_out_other_axes(settings);
    leave_out_arithmetic(settings);
    choose_reduction(settings, plan);
    choose_overlap(settings, plan, config->framework == "verl");
    choose_outer_group(settings, sizes, out);
    choose_experts(settings, plan);
    choose_batches(settings, sizes, out);
    choose_optimizer(settings, plan);
    choose_checkpoint(settings, out);
    choose_environment(settings, *config, out);
    settings.tell({"num_layers", "hidden_size", "num_attention_heads", "seq_length",
                   "max_position_embeddings", "ffn_hidden_size", "vocab_size"},
                  Use::scaled, "size of the preset " + std::string(preset->name));
    settings.tell({"seed"}, Use::not_exercised, fmt::format("seed {}", plan.seed));
    out.settings = settings.finish();
    out.data_parallel_only = std::any_of(out.settings.begin(), out.settings.end(),
                                         [](const Setting& setting) { return setting.limits; });
  }
  if (!wishes.strategy.empty()) {
    if (!is_strategy(wishes.strategy)) {
      throw Error("strategy '" + wishes.strategy +
                  "': expected no_shard, optim, optim_grads or optim_grads_params");
    }
    plan.strategy = wishes.strategy;
  }
  return out;
}

}  // namespace shardlint::verify
