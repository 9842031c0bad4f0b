#pragma once

#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// Fills in a directory of *.safetensors files, with or without an index. Never throws on damage.
void open_hugging_face(Checkpoint& into);

}  // namespace shardlint::checkpoint
