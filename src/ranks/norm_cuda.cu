// Layer norm, with the residual addition before it, forward and backward. A block of 256 threads
// takes a row; a thread keeps its part of the row in registers between the passes.

#include "ranks/kernels.cuh"
#include "ranks/ops.h"

namespace shardlint::ranks::kernels {
namespace {

constexpr int width = 256;       // threads
constexpr int row_blocks = 264;  // of the backward: partial sums of weights, whatever the device

// V: vectors of eight that a thread holds; 256 * 8 * V >= hidden.
template <int V>
__global__ void add_layernorm_kernel(Eight* sum, Eight* out, float2* statistics, const Eight* x,
                                     const Eight* y, const Eight* w, const Eight* b, int vectors) {
  __shared__ float shared[2][32];
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * vectors;
  float v[V][8];
  float total = 0;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const int i = threadIdx.x + k * width;
    if (i < vectors) {
      widen(x[row + i], v[k]);
      if (y != nullptr) {
        float more[8];
        widen(y[row + i], more);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          v[k][j] += more[j];
        }
        const Eight rounded = narrow(v[k]);
        sum[row + i] = rounded;
        widen(rounded, v[k]);
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        total += v[k][j];
      }
    }
  }
  const float hidden = static_cast<float>(vectors * 8);
  const float mean = block_sum(total, shared[0]) / hidden;
  float squares = 0;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    if (threadIdx.x + k * width < vectors) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        squares += (v[k][j] - mean) * (v[k][j] - mean);
      }
    }
  }
  const float inverse = 1.0f / sqrtf(block_sum(squares, shared[1]) / hidden + 1e-5f);
  if (threadIdx.x == 0) {
    statistics[blockIdx.x] = {mean, inverse};
  }
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const int i = threadIdx.x + k * width;
    if (i < vectors) {
      float gain[8], bias[8];
      widen(w[i], gain);
      widen(b[i], bias);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        v[k][j] = (v[k][j] - mean) * inverse * gain[j] + bias[j];
      }
      out[row + i] = narrow(v[k]);
    }
  }
}

template <int V>
__global__ void layernorm_grad_kernel(Eight* dx, Eight* out, float* partials, const Eight* dy,
                                      const Eight* residual, const Eight* x,
                                      const float2* statistics, const Eight* w, const Eight* b,
                                      int rows, int vectors) {
  __shared__ float2 shared[32];
  float dw[V][8] = {}, db[V][8] = {};
  const float hidden = static_cast<float>(vectors * 8);
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = static_cast<std::size_t>(r) * vectors;
    const float2 s = statistics[r];
    float normal[V][8], g[V][8];
    float2 total{0, 0};
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const int i = threadIdx.x + k * width;
      if (i < vectors) {
        float d[8], gain[8];
        widen(x[row + i], normal[k]);
        widen(dy[row + i], d);
        widen(w[i], gain);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          normal[k][j] = (normal[k][j] - s.x) * s.y;
          g[k][j] = d[j] * gain[j];
          total.x += g[k][j];
          total.y += g[k][j] * normal[k][j];
          dw[k][j] += d[j] * normal[k][j];
          db[k][j] += d[j];
        }
      }
    }
    total = block_sum(total, shared);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const int i = threadIdx.x + k * width;
      if (i < vectors) {
        float before[8] = {}, gain[8], bias[8], again[8];
        if (residual != nullptr) {
          widen(residual[row + i], before);
        }
        widen(w[i], gain);
        widen(b[i], bias);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          before[j] += s.y * (g[k][j] - (total.x + normal[k][j] * total.y) / hidden);
          again[j] = normal[k][j] * gain[j] + bias[j];
        }
        dx[row + i] = narrow(before);
        out[row + i] = narrow(again);
      }
    }
  }
  float* mine = partials + static_cast<std::size_t>(blockIdx.x) * vectors * 16;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const int i = threadIdx.x + k * width;
    if (i < vectors) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        mine[i * 8 + j] = dw[k][j];
        mine[(vectors + i) * 8 + j] = db[k][j];
      }
    }
  }
}

// 32 columns and 8 row groups a block; the groups are added in their order.
__global__ void layernorm_grad_sum_kernel(float* dw, float* db, const float* partials, int blocks,
                                          int hidden) {
  __shared__ float shared[8][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float total = 0;
  if (column < 2 * hidden) {
    for (int r = threadIdx.y; r < blocks; r += 8) {
      total += partials[static_cast<std::size_t>(r) * 2 * hidden + column];
    }
  }
  shared[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y == 0 && column < 2 * hidden) {
    for (int r = 1; r < 8; ++r) {
      total += shared[r][threadIdx.x];
    }
    float* into = column < hidden ? dw + column : db + (column - hidden);
    *into += total;
  }
}

// Calls f with the number of vectors a thread needs, as a constant.
template <typename F>
void with_vectors(int hidden, F f) {
  const int vectors = (hidden / 8 + width - 1) / width;
  if (vectors <= 1) {
    f(std::integral_constant<int, 1>{});
  } else if (vectors <= 2) {
    f(std::integral_constant<int, 2>{});
  } else if (vectors <= 4) {
    f(std::integral_constant<int, 4>{});
  } else if (vectors <= 8) {
    f(std::integral_constant<int, 8>{});
  } else {
    f(std::integral_constant<int, 16>{});
  }
}

}  // namespace
}  // namespace shardlint::ranks::kernels

namespace shardlint::ranks::inline SHARDLINT_OPS {

using namespace kernels;

void add_layernorm(Stream& stream, std::span<bf16> sum, std::span<bf16> out,
                   std::span<float> statistics, std::span<const bf16> x, std::span<const bf16> y,
                   Weights w, Weights b, int hidden) {
  const auto rows = static_cast<unsigned>(out.size() / static_cast<std::size_t>(hidden));
  with_vectors(hidden, [&](auto vectors) {
    add_layernorm_kernel<decltype(vectors)::value><<<rows, width, 0, stream_of(stream)>>>(
        eights(sum), eights(out), reinterpret_cast<float2*>(statistics.data()), eights(x),
        y.empty() ? nullptr : eights(y), eights(w), eights(b), hidden / 8);
  });
  launched("add_layernorm");
}

std::size_t layernorm_scratch(int hidden) {
  return static_cast<std::size_t>(row_blocks) * 2 * static_cast<std::size_t>(hidden);
}

void layernorm_grad(Stream& stream, std::span<bf16> dx, std::span<bf16> out, std::span<float> dw,
                    std::span<float> db, std::span<float> partials, std::span<const bf16> dy,
                    std::span<const bf16> residual, std::span<const bf16> x,
                    std::span<const float> statistics, Weights w, Weights b, int hidden) {
  const int rows = static_cast<int>(dx.size() / static_cast<std::size_t>(hidden));
  const int blocks = std::min(rows, row_blocks);
  with_vectors(hidden, [&](auto vectors) {
    layernorm_grad_kernel<decltype(vectors)::value>
        <<<static_cast<unsigned>(blocks), width, 0, stream_of(stream)>>>(
            eights(dx), eights(out), partials.data(), eights(dy),
            residual.empty() ? nullptr : eights(residual), eights(x),
            reinterpret_cast<const float2*>(statistics.data()), eights(w), eights(b), rows,
            hidden / 8);
  });
  layernorm_grad_sum_kernel<<<static_cast<unsigned>((2 * hidden + 31) / 32), dim3(32, 8), 0,
                              stream_of(stream)>>>(dw.data(), db.data(), partials.data(), blocks,
                                                   hidden);
  launched("layernorm_grad");
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
