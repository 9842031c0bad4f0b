#pragma once
// What the linter lends to verify and doctor.

#include "verify/verify.h"

namespace shardlint {

VerifyHooks verify_hooks();

}  // namespace shardlint
