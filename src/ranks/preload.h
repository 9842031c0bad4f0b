#pragma once
// Runs every kernel once on next to nothing. CUDA loads a kernel at its first launch, and may wait
// for the device to do so; if a collective that waits for another rank is under way there, and
// that rank waits to load a kernel too, nobody moves again.

#include "ranks/plan.h"

namespace shardlint::ranks {

void preload_kernels(const ModelSizes& sizes);

}  // namespace shardlint::ranks
