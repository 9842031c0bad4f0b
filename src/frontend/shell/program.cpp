#include "frontend/shell/program.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "frontend/shell/launcher.h"

namespace shardlint::shell {
namespace {

// Entry points of Megatron-LM that read its whole argument list.
constexpr std::array<std::string_view, 14> megatron_programs = {
    "pretrain_gpt",
    "pretrain_bert",
    "pretrain_t5",
    "pretrain_mamba",
    "pretrain_hybrid",
    "pretrain_vlm",
    "pretrain_ict",
    "pretrain_retro",
    "pretrain_vision_classify",
    "pretrain_vision_dino",
    "pretrain_vision_inpaint",
    "train_rl",
    "pretrain_mimo",
    "run_mamba_text_generation_server_completions"};

// Flags that only Megatron-LM's argument list has; three of them tell it apart.
constexpr std::array<std::string_view, 14> megatron_flags = {"--tensor-model-parallel-size",
                                                             "--pipeline-model-parallel-size",
                                                             "--micro-batch-size",
                                                             "--global-batch-size",
                                                             "--num-attention-heads",
                                                             "--hidden-size",
                                                             "--num-layers",
                                                             "--max-position-embeddings",
                                                             "--use-mcore-models",
                                                             "--tokenizer-type",
                                                             "--transformer-impl",
                                                             "--use-checkpoint-args",
                                                             "--use-distributed-optimizer",
                                                             "--expert-model-parallel-size"};

std::string stem_of(std::string_view program) {
  std::string name = file_name(program);
  return name.ends_with(".py") ? name.substr(0, name.size() - 3) : name;
}

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

bool verl_module(std::string_view module) {
  return starts(module, "verl.trainer.") || starts(module, "verl.experimental.") ||
         starts(module, "verl_mlite.") || starts(module, "recipe.");
}

// A path as a module: verl/trainer/main_ppo.py -> verl.trainer.main_ppo.
std::string module_of(std::string_view path) {
  std::string out(path.substr(0, path.size() - (path.ends_with(".py") ? 3 : 0)));
  std::replace(out.begin(), out.end(), '/', '.');
  const std::size_t at = out.rfind("verl.trainer.");
  const std::size_t other = out.rfind("verl.experimental.");
  const std::size_t begin = at != std::string::npos ? at : other;
  return begin == std::string::npos ? out : out.substr(begin);
}

}  // namespace

std::string framework_of(const Launch& launch) {
  const std::string& program = launch.program;
  if (verl_module(launch.module ? program : module_of(program))) {
    return "verl";
  }
  const std::string stem =
      launch.module ? program.substr(program.rfind('.') + 1) : stem_of(program);
  const auto under = [&](std::string_view folder) {
    return program.find(folder) != std::string::npos;
  };
  if (starts(program, "megatron.bridge.") || under("scripts/performance/") ||
      under("scripts/training/") || stem == "run_recipe" || stem == "recipe_runner") {
    return "megatron-bridge";
  }
  if (std::any_of(megatron_programs.begin(), megatron_programs.end(),
                  [&](std::string_view name) { return starts(stem, name); })) {
    return "megatron-lm";
  }
  std::size_t hits = 0;
  for (const Word& word : launch.arguments) {
    const std::string text = word.text();
    const std::string flag = text.substr(0, text.find('='));
    hits += std::find(megatron_flags.begin(), megatron_flags.end(), flag) != megatron_flags.end();
  }
  return hits >= 3 ? "megatron-lm" : "";
}

bool is_training(std::string_view program, bool module) {
  if (module) {
    for (const std::string_view tool :
         {"pip", "venv", "pytest", "json.tool", "http.server", "verl.model_merger",
          "torch.utils.collect_env", "uv", "ensurepip", "site", "coverage"}) {
      if (program == tool ||
          (starts(program, tool) && program.size() > tool.size() && program[tool.size()] == '.')) {
        return false;
      }
    }
    return true;
  }
  const std::string name = file_name(program);
  return name.ends_with(".py");
}

}  // namespace shardlint::shell
