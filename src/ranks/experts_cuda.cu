// Routing to experts on the GPU. Small next to the experts' matrix products: written for clarity.

#include "ranks/kernels.cuh"
#include "ranks/ops.h"

namespace shardlint::ranks::kernels {
namespace {

__device__ inline bool sent_to(const int* chosen, std::size_t token, int expert, int top_k) {
  for (int k = 0; k < top_k; ++k) {
    if (chosen[token * top_k + k] == expert) {
      return true;
    }
  }
  return false;
}

__global__ void route_kernel(float* probabilities, int* chosen, const bf16* router, int tokens,
                             int experts, int top_k) {
  const std::size_t t = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (t >= tokens) {
    return;
  }
  const bf16* scores = router + t * experts;
  float largest = -INFINITY, total = 0;
  for (int e = 0; e < experts; ++e) {
    largest = fmaxf(largest, as_float(scores[e]));
  }
  for (int e = 0; e < experts; ++e) {
    total += probabilities[t * experts + e] = __expf(as_float(scores[e]) - largest);
  }
  for (int e = 0; e < experts; ++e) {
    probabilities[t * experts + e] /= total;
  }
  int first = -1;
  for (int k = 0; k < top_k; ++k) {
    int best = -1;
    for (int e = 0; e < experts; ++e) {
      if (e != first && (best < 0 || as_float(scores[e]) > as_float(scores[best]))) {
        best = e;
      }
    }
    chosen[t * top_k + k] = best;
    first = best;
  }
}

__global__ void select_kernel(Eight* out, const Eight* x, const int* chosen, int expert, int top_k,
                              int vectors) {
  const std::size_t t = blockIdx.x;
  const bool sent = sent_to(chosen, t, expert, top_k);
  const float zeros[8] = {};
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    out[t * vectors + i] = sent ? x[t * vectors + i] : narrow(zeros);
  }
}

__global__ void combine_kernel(float* sum, const Eight* y, const float* probabilities,
                               const int* chosen, int expert, int experts, int top_k, int vectors,
                               bool add) {
  const std::size_t t = blockIdx.x;
  const bool sent = sent_to(chosen, t, expert, top_k);
  const float weight = !sent                      ? 0.0f
                       : probabilities == nullptr ? 1.0f
                                                  : probabilities[t * experts + expert];
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float v[8];
    widen(y[t * vectors + i], v);
    for (int j = 0; j < 8; ++j) {
      const std::size_t at = (t * vectors + i) * 8 + j;
      const float value = weight == 0 ? 0.0f : weight * v[j];
      sum[at] = add ? sum[at] + value : value;
    }
  }
}

__global__ void combine_grad_kernel(Eight* dy, float* dprobabilities, const float* dsum,
                                    const Eight* y, const float* probabilities, const int* chosen,
                                    int expert, int experts, int top_k, int vectors) {
  __shared__ float shared[32];
  const std::size_t t = blockIdx.x;
  const bool sent = sent_to(chosen, t, expert, top_k);
  const float weight = sent ? probabilities[t * experts + expert] : 0.0f;
  float total = 0;
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float v[8], d[8];
    widen(y[t * vectors + i], v);
    for (int j = 0; j < 8; ++j) {
      const float above = dsum[(t * vectors + i) * 8 + j];
      total += above * v[j];
      d[j] = sent ? above * weight : 0.0f;
    }
    dy[t * vectors + i] = narrow(d);
  }
  total = block_sum(total, shared);
  if (threadIdx.x == 0) {
    dprobabilities[t * experts + expert] = sent ? total : 0.0f;
  }
}

__global__ void route_grad_kernel(bf16* drouter, const float* dprobabilities,
                                  const float* probabilities, int tokens, int experts) {
  const std::size_t t = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (t >= tokens) {
    return;
  }
  float mean = 0;
  for (int e = 0; e < experts; ++e) {
    mean += probabilities[t * experts + e] * dprobabilities[t * experts + e];
  }
  for (int e = 0; e < experts; ++e) {
    drouter[t * experts + e] =
        as_bf16(probabilities[t * experts + e] * (dprobabilities[t * experts + e] - mean));
  }
}

}  // namespace
}  // namespace shardlint::ranks::kernels

namespace shardlint::ranks::inline SHARDLINT_OPS {

using namespace kernels;

void route(Stream& stream, std::span<float> probabilities, std::span<std::int32_t> chosen,
           std::span<const bf16> router, int experts, int top_k) {
  const int tokens = static_cast<int>(router.size() / static_cast<std::size_t>(experts));
  route_kernel<<<blocks_for(router.size() / static_cast<std::size_t>(experts), 128), 128, 0,
                 stream_of(stream)>>>(probabilities.data(), chosen.data(), router.data(), tokens,
                                      experts, top_k);
  launched("route");
}

void select_rows(Stream& stream, std::span<bf16> out, std::span<const bf16> x,
                 std::span<const std::int32_t> chosen, int expert, int top_k, int hidden) {
  select_kernel<<<static_cast<unsigned>(out.size() / static_cast<std::size_t>(hidden)), 128, 0,
                  stream_of(stream)>>>(eights(out), eights(x), chosen.data(), expert, top_k,
                                       hidden / 8);
  launched("select_rows");
}

void combine_rows(Stream& stream, std::span<float> sum, std::span<const bf16> y,
                  std::span<const float> probabilities, std::span<const std::int32_t> chosen,
                  int expert, int experts, int top_k, int hidden, bool add) {
  combine_kernel<<<static_cast<unsigned>(sum.size() / static_cast<std::size_t>(hidden)), 128, 0,
                   stream_of(stream)>>>(sum.data(), eights(y),
                                        probabilities.empty() ? nullptr : probabilities.data(),
                                        chosen.data(), expert, experts, top_k, hidden / 8, add);
  launched("combine_rows");
}

void combine_grad(Stream& stream, std::span<bf16> dy, std::span<float> dprobabilities,
                  std::span<const float> dsum, std::span<const bf16> y,
                  std::span<const float> probabilities, std::span<const std::int32_t> chosen,
                  int expert, int experts, int top_k, int hidden) {
  combine_grad_kernel<<<static_cast<unsigned>(dy.size() / static_cast<std::size_t>(hidden)), 128, 0,
                        stream_of(stream)>>>(eights(dy), dprobabilities.data(), dsum.data(),
                                             eights(y), probabilities.data(), chosen.data(), expert,
                                             experts, top_k, hidden / 8);
  launched("combine_grad");
}

void route_grad(Stream& stream, std::span<bf16> drouter, std::span<const float> dprobabilities,
                std::span<const float> probabilities, int experts) {
  const std::size_t tokens = drouter.size() / static_cast<std::size_t>(experts);
  route_grad_kernel<<<blocks_for(tokens, 128), 128, 0, stream_of(stream)>>>(
      drouter.data(), dprobabilities.data(), probabilities.data(), static_cast<int>(tokens),
      experts);
  launched("route_grad");
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
