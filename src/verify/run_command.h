#pragma once
// `shardlint verify --run -- CMD...`: the user's own training command instead of the trainer.

#include "verify/verify.h"

namespace shardlint::verify {

int run_command(const VerifyFlags& flags, const VerifyHooks& hooks, const Config* config);

}  // namespace shardlint::verify
