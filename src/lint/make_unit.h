#pragma once
// How facts become units, for the readers of the different kinds of file.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/words.h"
#include "lint/own_copy.h"
#include "lint/units.h"

namespace shardlint {

// Merges the user's own settings over the facts and adds the unit.
void add_unit(ReadFile& out, Facts facts, const Options& options, const OwnTarget& target);

// Reads Megatron-LM's argument list; `context` brings instance, anchor and what is known besides.
void add_argument_list(ReadFile& out, std::span<const Word> words, Facts context,
                       const std::string& script, const Options& options, const OwnTarget& target);

// Every launch of a training program in a shell script.
ReadFile read_shell(const Source& source, Sources& sources, Bench& bench);

}  // namespace shardlint
