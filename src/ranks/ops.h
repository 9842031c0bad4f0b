#pragma once
// The kernels, as plain functions over device memory; ops_list.inc names them. Row-major; shapes
// in the comments: T tokens (= B sequences x S), H hidden, N heads, D = H / N, V vocabulary, E
// experts. ops_cpu.cpp is the reference: loops, float accumulation in a fixed order, results
// rounded to the stored type once. The CUDA files must agree within the tolerances of
// self_test_gpu.cpp. No result depends on the order in which threads happen to run.

#include <cstdint>
#include <span>

#include "ranks/bf16.h"
#include "ranks/device.h"

// The reference is built into the GPU program too, under another name.
#ifndef SHARDLINT_OPS
#define SHARDLINT_OPS backend
#endif

namespace shardlint::ranks {

using Weights = std::span<const bf16>;

// Which rows of dx belong to which token: made on the host, so that each gradient row has one
// writer that adds in order. `rows` lists positions grouped by token, group g being
// rows[starts[g] .. starts[g+1]) of token ids[g].
struct TokenGroups {
  std::span<const std::int32_t> rows, starts, ids;
};

struct AttentionShape {
  int batch, sequence, heads, head_size;
};

struct AdamW {
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  int step;  // from 1
};

inline constexpr std::size_t reduction_scratch = 1024;  // floats

inline namespace SHARDLINT_OPS {
#include "ranks/ops_list.inc"
}  // namespace SHARDLINT_OPS

}  // namespace shardlint::ranks
