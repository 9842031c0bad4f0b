#pragma once
// The description that torch.distributed.checkpoint writes last: a pickle of one object of class
// Metadata. Its five fields are read; what others add is passed over.

#include <string>
#include <string_view>

#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// Fills in tensors, items, files, facts and findings from the bytes of a .metadata file.
// `name` is the file as the user would open it. Never throws on damage.
void parse_metadata(std::string_view bytes, const std::string& name, Checkpoint& into);

// Per-rank descriptions (save without collectives): each holds what one rank wrote. Merges the
// pieces of `part` into `whole`.
void merge_metadata(Checkpoint part, Checkpoint& whole);

}  // namespace shardlint::checkpoint
