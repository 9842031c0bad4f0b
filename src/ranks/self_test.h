#pragma once
// The executable's own test: every op against the reference (on the GPU), then a tiny plan.

#include "ranks/plan.h"

namespace shardlint::ranks {

// 0, 1 an op differs, 77 cannot run here. Without products: our own kernels alone, for
// compute-sanitizer, whose racecheck cannot follow those of cuBLASLt.
int self_test(bool products);
Plan self_test_plan();  // two ranks if there are two devices

}  // namespace shardlint::ranks
