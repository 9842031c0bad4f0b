#pragma once
// Command lines of Megatron-Bridge's own scripts: scripts/training/run_recipe.py and
// scripts/performance/{run_script,run_recipe,setup_experiment}.py, whose flags write keys of the
// configuration, and every script that takes Hydra-style KEY=VALUE words over a recipe.

#include <span>
#include <string>
#include <vector>

#include "facts/config.h"
#include "frontend/words.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

struct BridgeOptions {
  std::string version;  // of Megatron-Bridge; empty: the newest
  std::string script;   // as started: scripts/training/run_recipe.py
};

struct BridgeRun {
  // What the words write over the recipe, in the order in which the script applies it. `base` is
  // the recipe's name where the words give it. Always open: the recipe holds the rest.
  Facts facts;
  std::vector<Diagnostic> diagnostics;  // ARG1xx, HYD1xx
  std::string config_file;              // --config-file: merged between recipe and words
  std::string dataset, mode;            // --dataset and --mode of run_recipe.py
  bool syncs = false;                   // run_recipe.py, see bridge_sync.h
};

BridgeRun read_bridge_arguments(std::span<const Word> words, const BridgeOptions& options);

}  // namespace shardlint
