// Causal attention on tensor cores (mma.sync m16n8k16, bf16 in, float out), never storing scores.
//
// A block of 4 warps works on a tile of 64 rows and walks over tiles of 64 on the other side, the
// next of which is on its way (cp.async) while one is computed with. Backward is two kernels, one
// that owns rows of K and V and one that owns rows of Q: scores are computed twice, in return no
// two blocks ever add to the same place, so that results are the same bits every time.
//
// Fragments of mma.m16n8k16, lane = 4 * g + t: A (16 x 16) holds rows g and g + 8, columns 2t.. and
// 2t + 8..; B (16 x 8) rows 2t.. and 2t + 8.., column g; C (16 x 8) rows g and g + 8, columns 2t...
// Two neighbouring C tiles, rounded, are one A tile: P never leaves the registers.

#include <cmath>

#include "ranks/kernels.cuh"
#include "ranks/ops.h"

namespace shardlint::ranks::kernels {
namespace {

constexpr int tile = 64;      // rows
constexpr int threads = 128;  // 4 warps of 16 rows
constexpr float log2_e = 1.4426950408889634f;

template <int D>
struct Tile {
  // 8 more than D: rows start 16 bytes further in the banks, so that 8 rows never collide.
  static constexpr int stride = D + 8;
  static constexpr int elements = tile * stride;
};

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ inline void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;");
}
template <int left>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left));
}

// Starts copying 64 rows of D elements that lie `stride` elements apart.
template <int D>
__device__ inline void load_tile(bf16* to, const bf16* from, std::size_t stride) {
  constexpr int per_row = D / 8;
#pragma unroll
  for (int i = 0; i < tile * per_row / threads; ++i) {
    const int piece = i * threads + threadIdx.x;
    const int row = piece / per_row, column = piece % per_row * 8;
    copy_16(to + row * Tile<D>::stride + column, from + row * stride + column);
  }
}

__device__ inline void load_matrices(unsigned (&r)[4], const bf16* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(at))
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned (&r)[4], const bf16* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(at))
               : "memory");
}

__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A: 16 rows from `row`, 16 columns from `column`, row-major in shared memory.
template <int D>
__device__ inline void load_a(unsigned (&a)[4], const bf16* base, int row, int column) {
  const int lane = threadIdx.x % 32;
  load_matrices(
      a, base + (row + lane % 8 + lane / 8 % 2 * 8) * Tile<D>::stride + column + lane / 16 * 8);
}
// B for 16 of n from rows [n][k]: r[0], r[1] are the first 8 of n, r[2], r[3] the others.
template <int D>
__device__ inline void load_b(unsigned (&b)[4], const bf16* base, int n, int k) {
  const int lane = threadIdx.x % 32;
  load_matrices(b, base + (n + lane % 8 + lane / 16 * 8) * Tile<D>::stride + k + lane / 8 % 2 * 8);
}
// The same from rows [k][n].
template <int D>
__device__ inline void load_b_transposed(unsigned (&b)[4], const bf16* base, int k, int n) {
  const int lane = threadIdx.x % 32;
  load_matrices_transposed(
      b, base + (k + lane % 8 + lane / 8 % 2 * 8) * Tile<D>::stride + n + lane / 16 * 8);
}

__device__ inline unsigned pack(float low, float high) {
  const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&two);
}

// c (16 x 8 * n2 * 2) += A (16 x D, in registers) B^T with B rows [n][D] from `n` on.
template <int D, int N>
__device__ inline void rows_times_rows(float (&c)[N][4], const unsigned (&a)[D / 16][4],
                                       const bf16* b_rows, int n) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
#pragma unroll
    for (int j = 0; j < N / 2; ++j) {
      unsigned b[4];
      load_b<D>(b, b_rows, n + 16 * j, 16 * k);
      multiply(c[2 * j], a[k], b[0], b[1]);
      multiply(c[2 * j + 1], a[k], b[2], b[3]);
    }
  }
}
// The same with A in shared memory.
template <int D, int N>
__device__ inline void shared_times_rows(float (&c)[N][4], const bf16* a_rows, int row,
                                         const bf16* b_rows, int n) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    unsigned a[4];
    load_a<D>(a, a_rows, row, 16 * k);
#pragma unroll
    for (int j = 0; j < N / 2; ++j) {
      unsigned b[4];
      load_b<D>(b, b_rows, n + 16 * j, 16 * k);
      multiply(c[2 * j], a, b[0], b[1]);
      multiply(c[2 * j + 1], a, b[2], b[3]);
    }
  }
}
// c (16 x D) += P (16 x 8 * N, float fragments, rounded) B with B rows [k][D] from `k` on.
template <int D, int N>
__device__ inline void fragments_times_columns(float (&c)[D / 8][4], const float (&p)[N][4],
                                               const bf16* b_rows, int k) {
#pragma unroll
  for (int s = 0; s < N / 2; ++s) {
    const unsigned a[4] = {pack(p[2 * s][0], p[2 * s][1]), pack(p[2 * s][2], p[2 * s][3]),
                           pack(p[2 * s + 1][0], p[2 * s + 1][1]),
                           pack(p[2 * s + 1][2], p[2 * s + 1][3])};
#pragma unroll
    for (int j = 0; j < D / 16; ++j) {
      unsigned b[4];
      load_b_transposed<D>(b, b_rows, k + 16 * s, 16 * j);
      multiply(c[2 * j], a, b[0], b[1]);
      multiply(c[2 * j + 1], a, b[2], b[3]);
    }
  }
}

template <int N>
__device__ inline void set_zero(float (&c)[N][4]) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c[j][i] = 0;
    }
  }
}

// Two rows of fragments to global memory, times `factor` of each.
template <int D>
__device__ inline void store_rows(bf16* to, std::size_t stride, const float (&c)[D / 8][4],
                                  float factor_low, float factor_high) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int j = 0; j < D / 8; ++j) {
    *reinterpret_cast<unsigned*>(to + g * stride + 8 * j + 2 * t) =
        pack(c[j][0] * factor_low, c[j][1] * factor_low);
    *reinterpret_cast<unsigned*>(to + (g + 8) * stride + 8 * j + 2 * t) =
        pack(c[j][2] * factor_high, c[j][3] * factor_high);
  }
}

struct Where {
  std::size_t qkv_stride, out_stride;  // between tokens
  std::size_t q, k, v, out, row;       // of this block's head and sequence
};
template <int D>
__device__ inline Where where(int heads, int sequence) {
  const std::size_t head = blockIdx.y, batch = blockIdx.z;
  const std::size_t wide = static_cast<std::size_t>(heads) * D;
  Where w;
  w.qkv_stride = 3 * wide;
  w.out_stride = wide;
  w.q = batch * sequence * w.qkv_stride + head * D;
  w.k = w.q + wide;
  w.v = w.k + wide;
  w.out = batch * sequence * wide + head * D;
  w.row = (batch * heads + head) * sequence;
  return w;
}

template <int D>
__global__ void __launch_bounds__(threads)
    attention_kernel(bf16* out, float* logsumexp, const bf16* qkv, int heads, int sequence,
                     float scale) {
  extern __shared__ uint4 memory[];
  bf16* q_rows = reinterpret_cast<bf16*>(memory);
  bf16* k_rows = q_rows + Tile<D>::elements;      // two tiles
  bf16* v_rows = k_rows + 2 * Tile<D>::elements;  // two tiles
  const Where w = where<D>(heads, sequence);
  const int q_tile = gridDim.x - 1 - blockIdx.x;  // the longest rows first
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto load = [&](int j) {
    const std::size_t first = static_cast<std::size_t>(j) * tile * w.qkv_stride;
    load_tile<D>(k_rows + j % 2 * Tile<D>::elements, qkv + w.k + first, w.qkv_stride);
    load_tile<D>(v_rows + j % 2 * Tile<D>::elements, qkv + w.v + first, w.qkv_stride);
  };
  load_tile<D>(q_rows, qkv + w.q + static_cast<std::size_t>(q_tile) * tile * w.qkv_stride,
               w.qkv_stride);
  load(0);
  commit_copies();
  float o[D / 8][4], largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  set_zero(o);
  unsigned q[D / 16][4];
  const float scale_log2 = scale * log2_e;
  for (int j = 0; j <= q_tile; ++j) {
    wait_copies<0>();
    __syncthreads();  // tile j is there, and everyone is done with the one before
    if (j < q_tile) {
      load(j + 1);
      commit_copies();
    }
    if (j == 0) {
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
        load_a<D>(q[k], q_rows, warp * 16, 16 * k);
      }
    }
    float s[tile / 8][4];
    set_zero(s);
    rows_times_rows<D>(s, q, k_rows + j % 2 * Tile<D>::elements, 0);
    if (j == q_tile) {
#pragma unroll
      for (int n = 0; n < tile / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (8 * n + 2 * t + i % 2 > warp * 16 + g + i / 2 * 8) {
            s[n][i] = -INFINITY;
          }
        }
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // rows g and g + 8
      float top = largest[half];
#pragma unroll
      for (int n = 0; n < tile / 8; ++n) {
        top = fmaxf(top, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      }
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      // Every row sees at least its own key in its first tile or an earlier one: top is finite.
      const float shrink = exp2f((largest[half] - top) * scale_log2);
      largest[half] = top;
      total[half] *= shrink;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        o[n][2 * half] *= shrink;
        o[n][2 * half + 1] *= shrink;
      }
#pragma unroll
      for (int n = 0; n < tile / 8; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          s[n][i] = exp2f((s[n][i] - top) * scale_log2);
          total[half] += s[n][i];
        }
      }
    }
    fragments_times_columns<D>(o, s, v_rows + j % 2 * Tile<D>::elements, 0);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
    total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
    if (t == 0) {
      logsumexp[w.row + q_tile * tile + warp * 16 + g + 8 * half] =
          largest[half] * scale + logf(total[half]);
    }
  }
  store_rows<D>(out + w.out + static_cast<std::size_t>(q_tile * tile + warp * 16) * w.out_stride,
                w.out_stride, o, 1.0f / total[0], 1.0f / total[1]);
}

// delta[row] = <dout, out>: a warp a token and head.
__global__ void attention_delta_kernel(float* delta, const bf16* dout, const bf16* out,
                                       std::size_t rows, int heads, int sequence, int head_size) {
  const std::size_t index = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (index >= rows) {
    return;
  }
  const int lane = threadIdx.x % 32;
  float total = 0;
  for (int i = 2 * lane; i < head_size; i += 64) {
    const float2 a =
        __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(dout + index * head_size + i));
    const float2 b =
        __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(out + index * head_size + i));
    total += a.x * b.x + a.y * b.y;
  }
  total = warp_sum(total);
  if (lane == 0) {
    const std::size_t token = index / heads, head = index % heads;
    delta[(token / sequence * heads + head) * sequence + token % sequence] = total;
  }
}

// Owns 64 keys: dV = P^T dO and dK = dS^T Q, with S^T = K Q^T, so that P^T is an A fragment.
template <int D>
__global__ void __launch_bounds__(threads)
    attention_grad_kv_kernel(bf16* dqkv, const bf16* dout, const bf16* qkv, const float* logsumexp,
                             const float* delta, int heads, int sequence, float scale) {
  extern __shared__ uint4 memory[];
  bf16* k_rows = reinterpret_cast<bf16*>(memory);
  bf16* v_rows = k_rows + Tile<D>::elements;
  bf16* q_rows = v_rows + Tile<D>::elements;                                   // two tiles
  bf16* do_rows = q_rows + 2 * Tile<D>::elements;                              // two tiles
  float* row_log = reinterpret_cast<float*>(do_rows + 2 * Tile<D>::elements);  // 2 x 64
  float* row_delta = row_log + 2 * tile;                                       // 2 x 64
  const Where w = where<D>(heads, sequence);
  const int k_tile = blockIdx.x, tiles = gridDim.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto load = [&](int i) {
    const std::size_t row = static_cast<std::size_t>(i) * tile;
    load_tile<D>(q_rows + i % 2 * Tile<D>::elements, qkv + w.q + row * w.qkv_stride, w.qkv_stride);
    load_tile<D>(do_rows + i % 2 * Tile<D>::elements, dout + w.out + row * w.out_stride,
                 w.out_stride);
    if (threadIdx.x < tile / 4) {
      copy_16(row_log + i % 2 * tile + 4 * threadIdx.x, logsumexp + w.row + row + 4 * threadIdx.x);
    } else if (threadIdx.x < tile / 2) {
      const int at = 4 * (threadIdx.x - tile / 4);
      copy_16(row_delta + i % 2 * tile + at, delta + w.row + row + at);
    }
  };
  const std::size_t first = static_cast<std::size_t>(k_tile) * tile;
  load_tile<D>(k_rows, qkv + w.k + first * w.qkv_stride, w.qkv_stride);
  load_tile<D>(v_rows, qkv + w.v + first * w.qkv_stride, w.qkv_stride);
  load(k_tile);
  commit_copies();
  float dk[D / 8][4], dv[D / 8][4];
  set_zero(dk);
  set_zero(dv);
  const float scale_log2 = scale * log2_e;
  for (int i = k_tile; i < tiles; ++i) {
    wait_copies<0>();
    __syncthreads();
    if (i + 1 < tiles) {
      load(i + 1);
      commit_copies();
    }
    const bf16* q = q_rows + i % 2 * Tile<D>::elements;
    const bf16* d_out = do_rows + i % 2 * Tile<D>::elements;
#pragma unroll
    for (int half = 0; half < tile; half += 32) {  // queries at a time: registers are short
      float p[4][4], ds[4][4];
      set_zero(p);
      shared_times_rows<D>(p, k_rows, warp * 16, q, half);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int column = half + 8 * n + 2 * t;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float value =
              exp2f(p[n][e] * scale_log2 - row_log[i % 2 * tile + column + e % 2] * log2_e);
          const bool hidden = i == k_tile && warp * 16 + g + e / 2 * 8 > column + e % 2;
          p[n][e] = hidden ? 0.0f : value;
        }
      }
      fragments_times_columns<D>(dv, p, d_out, half);
      set_zero(ds);
      shared_times_rows<D>(ds, v_rows, warp * 16, d_out, half);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int column = half + 8 * n + 2 * t;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          ds[n][e] = p[n][e] * (ds[n][e] - row_delta[i % 2 * tile + column + e % 2]);
        }
      }
      fragments_times_columns<D>(dk, ds, q, half);
    }
  }
  const std::size_t mine = (first + warp * 16) * w.qkv_stride;
  store_rows<D>(dqkv + w.k + mine, w.qkv_stride, dk, scale, scale);
  store_rows<D>(dqkv + w.v + mine, w.qkv_stride, dv, 1.0f, 1.0f);
}

// Owns 64 queries: dQ = dS K.
template <int D>
__global__ void __launch_bounds__(threads)
    attention_grad_q_kernel(bf16* dqkv, const bf16* dout, const bf16* qkv, const float* logsumexp,
                            const float* delta, int heads, int sequence, float scale) {
  extern __shared__ uint4 memory[];
  bf16* q_rows = reinterpret_cast<bf16*>(memory);
  bf16* do_rows = q_rows + Tile<D>::elements;
  bf16* k_rows = do_rows + Tile<D>::elements;     // two tiles
  bf16* v_rows = k_rows + 2 * Tile<D>::elements;  // two tiles
  const Where w = where<D>(heads, sequence);
  const int q_tile = gridDim.x - 1 - blockIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto load = [&](int j) {
    const std::size_t at = static_cast<std::size_t>(j) * tile * w.qkv_stride;
    load_tile<D>(k_rows + j % 2 * Tile<D>::elements, qkv + w.k + at, w.qkv_stride);
    load_tile<D>(v_rows + j % 2 * Tile<D>::elements, qkv + w.v + at, w.qkv_stride);
  };
  const std::size_t first = static_cast<std::size_t>(q_tile) * tile;
  load_tile<D>(q_rows, qkv + w.q + first * w.qkv_stride, w.qkv_stride);
  load_tile<D>(do_rows, dout + w.out + first * w.out_stride, w.out_stride);
  load(0);
  commit_copies();
  const std::size_t row = w.row + first + warp * 16 + g;
  const float log_low = logsumexp[row] * log2_e, log_high = logsumexp[row + 8] * log2_e;
  const float delta_low = delta[row], delta_high = delta[row + 8];
  float dq[D / 8][4];
  set_zero(dq);
  unsigned q[D / 16][4], d_out[D / 16][4];
  const float scale_log2 = scale * log2_e;
  for (int j = 0; j <= q_tile; ++j) {
    wait_copies<0>();
    __syncthreads();
    if (j < q_tile) {
      load(j + 1);
      commit_copies();
    }
    if (j == 0) {
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
        load_a<D>(q[k], q_rows, warp * 16, 16 * k);
        load_a<D>(d_out[k], do_rows, warp * 16, 16 * k);
      }
    }
    const bf16* k = k_rows + j % 2 * Tile<D>::elements;
    const bf16* v = v_rows + j % 2 * Tile<D>::elements;
#pragma unroll
    for (int half = 0; half < tile; half += 32) {
      float p[4][4], ds[4][4];
      set_zero(p);
      rows_times_rows<D>(p, q, k, half);
      set_zero(ds);
      rows_times_rows<D>(ds, d_out, v, half);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float value = exp2f(p[n][e] * scale_log2 - (e < 2 ? log_low : log_high));
          const bool hidden =
              j == q_tile && half + 8 * n + 2 * t + e % 2 > warp * 16 + g + e / 2 * 8;
          ds[n][e] = hidden ? 0.0f : value * (ds[n][e] - (e < 2 ? delta_low : delta_high));
        }
      }
      fragments_times_columns<D>(dq, ds, k, half);
    }
  }
  store_rows<D>(dqkv + w.q + (first + warp * 16) * w.qkv_stride, w.qkv_stride, dq, scale, scale);
}

template <int D>
constexpr std::size_t forward_memory = 5 * Tile<D>::elements * sizeof(bf16);
template <int D>
constexpr std::size_t backward_memory = 6 * Tile<D>::elements * sizeof(bf16) +
                                        4 * tile * sizeof(float);

template <int D>
void allow_memory() {
  const auto allow = [](const void* kernel, std::size_t bytes) {
    cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(bytes)),
         "give attention its shared memory");
  };
  allow(reinterpret_cast<const void*>(attention_kernel<D>), forward_memory<D>);
  allow(reinterpret_cast<const void*>(attention_grad_kv_kernel<D>), backward_memory<D>);
  allow(reinterpret_cast<const void*>(attention_grad_q_kernel<D>), backward_memory<D>);
}

// Once a thread: a rank is a thread on one device.
void prepare() {
  thread_local bool done = false;
  if (!done) {
    allow_memory<64>();
    allow_memory<128>();
    done = true;
  }
}

template <typename F>
void with_head_size(int head_size, F f) {
  prepare();
  head_size == 64 ? f(std::integral_constant<int, 64>{}) : f(std::integral_constant<int, 128>{});
}

dim3 grid_of(const AttentionShape& s) {
  return {static_cast<unsigned>(s.sequence / tile), static_cast<unsigned>(s.heads),
          static_cast<unsigned>(s.batch)};
}

}  // namespace
}  // namespace shardlint::ranks::kernels

namespace shardlint::ranks::inline SHARDLINT_OPS {

using namespace kernels;

void attention(Stream& stream, std::span<bf16> out, std::span<float> logsumexp,
               std::span<const bf16> qkv, const AttentionShape& shape) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size));
  with_head_size(shape.head_size, [&](auto size) {
    constexpr int d = decltype(size)::value;
    attention_kernel<d><<<grid_of(shape), threads, forward_memory<d>, stream_of(stream)>>>(
        out.data(), logsumexp.data(), qkv.data(), shape.heads, shape.sequence, scale);
  });
  launched("attention");
}

void attention_grad(Stream& stream, std::span<bf16> dqkv, std::span<float> delta,
                    std::span<const bf16> dout, std::span<const bf16> out,
                    std::span<const bf16> qkv, std::span<const float> logsumexp,
                    const AttentionShape& shape) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size));
  const std::size_t rows = static_cast<std::size_t>(shape.batch) *
                           static_cast<std::size_t>(shape.sequence) *
                           static_cast<std::size_t>(shape.heads);
  attention_delta_kernel<<<blocks_for(rows * 32, 256), 256, 0, stream_of(stream)>>>(
      delta.data(), dout.data(), out.data(), rows, shape.heads, shape.sequence, shape.head_size);
  with_head_size(shape.head_size, [&](auto size) {
    constexpr int d = decltype(size)::value;
    attention_grad_kv_kernel<d><<<grid_of(shape), threads, backward_memory<d>, stream_of(stream)>>>(
        dqkv.data(), dout.data(), qkv.data(), logsumexp.data(), delta.data(), shape.heads,
        shape.sequence, scale);
    attention_grad_q_kernel<d><<<grid_of(shape), threads, backward_memory<d>, stream_of(stream)>>>(
        dqkv.data(), dout.data(), qkv.data(), logsumexp.data(), delta.data(), shape.heads,
        shape.sequence, scale);
  });
  launched("attention_grad");
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
