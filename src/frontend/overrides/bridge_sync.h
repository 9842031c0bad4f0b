#pragma once
// What scripts/training/run_recipe.py changes by itself between its words and validation, so that
// nobody is told of a disagreement that the script mends.

#include <string_view>

#include "facts/config.h"

namespace shardlint {

// --dataset puts another dataset into the recipe before any word is applied: what it holds is not
// known.
void drop_dataset(Facts& recipe, std::string_view choice);

// Recipe and words, in order; what follows from them is appended, with the place of its cause.
void add_recipe_syncs(Facts& facts, bool finetunes);

}  // namespace shardlint
