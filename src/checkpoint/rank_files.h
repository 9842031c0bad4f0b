#pragma once
// Formats that keep one file of torch.save a rank: Megatron's legacy checkpoints and verl's FSDP
// ones.

#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// iter_N/mp_rank_TT[_PPP][_EEE]/{model_optim_rng,distrib_optim,...}.pt
void open_legacy(Checkpoint& into);

// {model,optim,extra_state}_world_size_W_rank_R.pt and fsdp_config.json
void open_fsdp_ranks(Checkpoint& into);

}  // namespace shardlint::checkpoint
