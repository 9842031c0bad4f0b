// Any words as the command line of a Hydra program and of a Megatron-Bridge script.

#include "frontend/overrides/bridge_arguments.h"
#include "frontend/overrides/hydra.h"
#include "words_of.h"

using namespace shardlint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 5'000) {
    return 0;
  }
  const Source source("words", std::string(reinterpret_cast<const char*>(data), size));
  const std::vector<Word> words = words_of(source);
  HydraOptions options;
  options.config_name = size % 2 ? "sft_trainer_engine" : "ppo_megatron_trainer";
  const HydraRun run = read_hydra_arguments(words, options);
  check_places(source, run.diagnostics);
  const BridgeRun bridge =
      read_bridge_arguments(words, {"", size % 3 ? "training/run_recipe.py" : "run_script.py"});
  check_places(source, bridge.diagnostics);
  return 0;
}
