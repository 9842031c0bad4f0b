#pragma once
// What the linter lends to verify and doctor.

#include "shardlint/lint.h"
#include "verify/verify.h"

namespace shardlint {

VerifyHooks verify_hooks(const Options& options);  // which outlives them

}  // namespace shardlint
