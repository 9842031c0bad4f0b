#pragma once
// Arguments that --use-checkpoint-args takes from the checkpoint.

#include "facts/config.h"
#include "schema/schema.h"

namespace shardlint {

// Where the list holds --use-checkpoint-args, what the checkpoint may replace becomes unknown: the
// rewrite comes before every check.
void values_from_checkpoint(Facts& facts, const Schema& schema);

}  // namespace shardlint
