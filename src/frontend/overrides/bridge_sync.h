#pragma once
// What scripts/training/run_recipe.py changes by itself between its words and validation, so that
// nobody is told of a disagreement that the script mends, nor of what it is always given.

#include <string_view>

#include "facts/config.h"

namespace shardlint {

// --dataset puts another dataset into the recipe before any word is applied: what it holds is not
// known.
void drop_dataset(Facts& recipe, std::string_view choice);

// Recipe and words, in order; what follows from them is appended, with the place of its cause.
void add_recipe_syncs(Facts& facts, bool finetunes);

// Whether a name (a mode, a recipe) is one of fine-tuning.
bool names_finetuning(std::string_view name);

// A recipe on its own, before anybody launches it: what launchers give and the recipe leaves empty
// is not known (the checkpoint that is tuned, where data lies), and what run_recipe.py changes by
// itself is the one or the other.
void leave_to_launch(Facts& recipe);

}  // namespace shardlint
