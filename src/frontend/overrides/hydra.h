#pragma once
// A command line of a Hydra program (verl): which root it composes, which options of which groups,
// and the overrides applied one by one, with Hydra's own refusals (codes in hydra_errors.h).

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"
#include "frontend/overrides/hydra_compose.h"
#include "frontend/overrides/hydra_fields.h"
#include "frontend/words.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

struct HydraOptions {
  std::string version;      // of verl; empty: the newest
  std::string program;      // module or script: verl.trainer.main_ppo, sft_trainer.py
  std::string config_name;  // instead of the program's own; the command line's wins
  // Files of the user's own tree (--config-path, --config-dir), asked before the built-in ones.
  FindTreeFile own_files;
  bool more_trees = false;   // others are searched too that are not here
  PlaceTreeFile own_places;  // of the values in those files
  // Whether a class has a field in the copy of verl that lies here; empty: there is none.
  HasField has_field = {};
};

struct HydraRun {
  // Every key of the final tree in its order: defaults without a place, overrides and values of
  // the user's own files with theirs,
  // interpolations followed. base is the root's name. Closed unless a word may be more overrides.
  Facts facts;
  std::vector<Diagnostic> diagnostics;
  bool composed = false;  // the root was found; without it only the overrides are facts
  std::map<std::string, std::string> groups;  // choices in force: "model_engine" -> "megatron"
};

// The words after the program's name.
HydraRun read_hydra_arguments(std::span<const Word> words, const HydraOptions& options);

// The root that a verl program composes by itself, or empty.
std::string_view root_of_program(std::string_view program);

}  // namespace shardlint
