// Elementwise work, sums, the optimizer, embeddings and cross-entropy on the GPU. What each
// computes is written in ops.h and, plainly, in ops_cpu.cpp.

#include <cmath>

#include "ranks/kernels.cuh"
#include "ranks/ops.h"
#include "ranks/random.h"

namespace shardlint::ranks::kernels {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned sum_blocks = 512;  // fixed, so that sums do not depend on the device

// Applies `each` to eight elements at a time, and `one` to what is left over.
template <typename Each, typename One>
__global__ void elementwise(std::size_t count, Each each, One one) {
  const std::size_t whole = count / 8;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t i = first; i < whole; i += step) {
    each(i);
  }
  for (std::size_t i = whole * 8 + first; i < count; i += step) {
    one(i);
  }
}

template <typename Each, typename One>
void run_elementwise(Stream& stream, std::size_t count, const char* name, Each each, One one) {
  if (count > 0) {
    elementwise<<<blocks_for(count / 8 + 8, threads, 132 * 16), threads, 0, stream_of(stream)>>>(
        count, each, one);
    launched(name);
  }
}

__device__ inline void load8(const float* from, float (&into)[8]) {
  const float4 a = reinterpret_cast<const float4*>(from)[0];
  const float4 b = reinterpret_cast<const float4*>(from)[1];
  into[0] = a.x, into[1] = a.y, into[2] = a.z, into[3] = a.w;
  into[4] = b.x, into[5] = b.y, into[6] = b.z, into[7] = b.w;
}
__device__ inline void store8(float* into, const float (&from)[8]) {
  reinterpret_cast<float4*>(into)[0] = {from[0], from[1], from[2], from[3]};
  reinterpret_cast<float4*>(into)[1] = {from[4], from[5], from[6], from[7]};
}

// x * sigmoid(2 u) is the tanh form of GELU with u its tanh's argument.
constexpr float gelu_a = 0.7978845608028654f, gelu_b = 0.044715f;
__device__ inline float gelu_gate(float x) {
  return 1.0f / (1.0f + __expf(-2.0f * gelu_a * (x + gelu_b * x * x * x)));
}
__device__ inline float gelu_of(float x) {
  return x * gelu_gate(x);
}
__device__ inline float gelu_slope(float x, float gate) {
  return gate + x * gate * (1.0f - gate) * 2.0f * gelu_a * (1.0f + 3.0f * gelu_b * x * x);
}

__global__ void embed_kernel(Eight* x, const int* tokens, const Eight* word, const Eight* position,
                             int sequence, int vectors) {
  const int t = blockIdx.x;
  const std::size_t token = tokens[t];
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float a[8], b[8];
    widen(word[token * vectors + i], a);
    widen(position[static_cast<std::size_t>(t % sequence) * vectors + i], b);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      a[j] += b[j];
    }
    x[static_cast<std::size_t>(t) * vectors + i] = narrow(a);
  }
}

// A block adds the rows of one token: it alone writes that row of the gradient.
__global__ void embed_word_grad_kernel(float* dword, const Eight* dx, const int* rows,
                                       const int* starts, const int* ids, int vectors) {
  const int group = blockIdx.x;
  const int begin = starts[group], end = starts[group + 1];
  const std::size_t id = ids[group];
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float total[8] = {}, part[8];
    for (int r = begin; r < end; ++r) {
      widen(dx[static_cast<std::size_t>(rows[r]) * vectors + i], part);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        total[j] += part[j];
      }
    }
    float* into = dword + (id * vectors + i) * 8;
    load8(into, part);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      total[j] += part[j];
    }
    store8(into, total);
  }
}

__global__ void embed_position_grad_kernel(float* dposition, const Eight* dx, int tokens,
                                           int sequence, int vectors) {
  const int s = blockIdx.x;
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float total[8] = {}, part[8];
    for (int t = s; t < tokens; t += sequence) {
      widen(dx[static_cast<std::size_t>(t) * vectors + i], part);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        total[j] += part[j];
      }
    }
    float* into = dposition + (static_cast<std::size_t>(s) * vectors + i) * 8;
    load8(into, part);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      total[j] += part[j];
    }
    store8(into, total);
  }
}

// A block a row: one pass for the maximum and the sum of exponentials, one for the gradient, which
// the first pass left in the cache.
__global__ void cross_entropy_kernel(float* losses, bf16* logits, const int* targets, int vocab,
                                     float scale) {
  __shared__ float2 shared[32];
  __shared__ float target_logit;
  const std::size_t row = blockIdx.x;
  bf16* scalars = logits + row * vocab;
  Eight* mine = reinterpret_cast<Eight*>(scalars);
  const int target = targets[row], vectors = vocab / 8;
  if (threadIdx.x == 0) {
    target_logit = as_float(scalars[target]);
  }
  float largest = -INFINITY, total = 0;
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float v[8];
    widen(mine[i], v);
    float top = v[0];
#pragma unroll
    for (int j = 1; j < 8; ++j) {
      top = fmaxf(top, v[j]);
    }
    const float next = fmaxf(largest, top);
    total *= __expf(largest - next);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      total += __expf(v[j] - next);
    }
    largest = next;
  }
  const auto merge = [](float2 a, float2 b) {
    const float top = fmaxf(a.x, b.x);
    const float left = a.y == 0 ? 0 : a.y * __expf(a.x - top);
    const float right = b.y == 0 ? 0 : b.y * __expf(b.x - top);
    return float2{top, left + right};
  };
  float2 state{largest, total};
  const auto merge_warp = [&] {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      state = merge(state, {__shfl_xor_sync(0xffffffffu, state.x, step),
                            __shfl_xor_sync(0xffffffffu, state.y, step)});
    }
  };
  merge_warp();
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32] = state;
  }
  __syncthreads();
  state = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : float2{-INFINITY, 0};
  merge_warp();
  const float sum_log = state.x + logf(state.y), inverse = 1.0f / state.y;
  if (threadIdx.x == 0) {
    losses[row] = sum_log - target_logit;
  }
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    float v[8];
    widen(mine[i], v);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      v[j] = (__expf(v[j] - state.x) * inverse - (i * 8 + j == target ? 1.0f : 0.0f)) * scale;
    }
    mine[i] = narrow(v);
  }
}

template <bool squares>
__global__ void sum_kernel(float* partials, const float* data, std::size_t count) {
  __shared__ float shared[32];
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool wide = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  float total[4] = {};
  const std::size_t whole = wide ? count / 4 : 0;
  for (std::size_t i = first; i < whole; i += step) {
    const float4 v = reinterpret_cast<const float4*>(data)[i];
    total[0] += squares ? v.x * v.x : v.x;
    total[1] += squares ? v.y * v.y : v.y;
    total[2] += squares ? v.z * v.z : v.z;
    total[3] += squares ? v.w * v.w : v.w;
  }
  for (std::size_t i = whole * 4 + first; i < count; i += step) {
    total[0] += squares ? data[i] * data[i] : data[i];
  }
  const float sum = block_sum((total[0] + total[1]) + (total[2] + total[3]), shared);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
  }
}

__global__ void last_sum_kernel(float* out, const float* partials, int count) {
  __shared__ float shared[32];
  float total = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    total += partials[i];
  }
  total = block_sum(total, shared);
  if (threadIdx.x == 0) {
    *out = total;
  }
}

template <bool squares>
void run_sum(Stream& stream, std::span<float> out, std::span<float> scratch,
             std::span<const float> data) {
  const unsigned blocks = blocks_for(data.size() / 4 + 1, threads, sum_blocks);
  sum_kernel<squares>
      <<<blocks, threads, 0, stream_of(stream)>>>(scratch.data(), data.data(), data.size());
  last_sum_kernel<<<1, 512, 0, stream_of(stream)>>>(out.data(), scratch.data(),
                                                    static_cast<int>(blocks));
  launched("sum");
}

__global__ void clip_kernel(float* factor, const float* squares, float limit) {
  *factor = fminf(1.0f, limit / (sqrtf(*squares) + 1e-6f));
}

__global__ void check_pattern_kernel(float* partials, const float* data, std::size_t count,
                                     std::uint64_t seed, std::uint64_t rank, int ranks,
                                     std::uint64_t first) {
  __shared__ float shared[32];
  float wrong = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    float expected = 0;
    for (int r = 0; r < ranks; ++r) {
      expected += pattern_at(seed, rank + r, first + i);
    }
    wrong += data[i] != expected ? 1.0f : 0.0f;
  }
  wrong = block_sum(wrong, shared);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = wrong;
  }
}

// Integers: the order of the additions does not matter.
__global__ void hash_kernel(unsigned long long* hash, const std::uint32_t* data, std::size_t count,
                            std::uint64_t first) {
  unsigned long long total = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    total += mix(mix(first + i) ^ data[i]);
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    total += __shfl_xor_sync(0xffffffffu, total, lanes);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(hash, total);
  }
}

__device__ inline void adamw_one(float& main, float& first, float& second, float gradient,
                                 const AdamW& o, float c1, float c2) {
  first = o.beta1 * first + (1.0f - o.beta1) * gradient;
  second = o.beta2 * second + (1.0f - o.beta2) * gradient * gradient;
  const float denominator = sqrtf(second / c2) + o.epsilon;
  main = main * (1.0f - o.learning_rate * o.weight_decay) -
         o.learning_rate * (first / c1) / denominator;
}

__global__ void adamw_kernel(float4* main, float4* first, float4* second, const float4* gradient,
                             const float* factor, std::size_t count, AdamW o, float c1, float c2) {
  const float f = factor == nullptr ? 1.0f : *factor;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    float4 w = main[i], m = first[i], v = second[i];
    const float4 g = gradient[i];
    adamw_one(w.x, m.x, v.x, g.x * f, o, c1, c2);
    adamw_one(w.y, m.y, v.y, g.y * f, o, c1, c2);
    adamw_one(w.z, m.z, v.z, g.z * f, o, c1, c2);
    adamw_one(w.w, m.w, v.w, g.w * f, o, c1, c2);
    main[i] = w;
    first[i] = m;
    second[i] = v;
  }
}

}  // namespace
}  // namespace shardlint::ranks::kernels

namespace shardlint::ranks::inline SHARDLINT_OPS {

using namespace kernels;

void embed(Stream& stream, std::span<bf16> x, std::span<const std::int32_t> tokens, Weights word,
           Weights position, int sequence, int hidden) {
  embed_kernel<<<static_cast<unsigned>(tokens.size()), 128, 0, stream_of(stream)>>>(
      eights(x), tokens.data(), eights(word), eights(position), sequence, hidden / 8);
  launched("embed");
}

void embed_grad(Stream& stream, std::span<float> dword, std::span<float> dposition,
                std::span<const bf16> dx, const TokenGroups& groups, int tokens, int sequence,
                int hidden) {
  embed_word_grad_kernel<<<static_cast<unsigned>(groups.ids.size()), 128, 0, stream_of(stream)>>>(
      dword.data(), eights(dx), groups.rows.data(), groups.starts.data(), groups.ids.data(),
      hidden / 8);
  embed_position_grad_kernel<<<static_cast<unsigned>(sequence), 128, 0, stream_of(stream)>>>(
      dposition.data(), eights(dx), tokens, sequence, hidden / 8);
  launched("embed_grad");
}

void gelu(Stream& stream, std::span<bf16> y, std::span<const bf16> x) {
  Eight* out = eights(y);
  const Eight* in = eights(x);
  const bf16* x1 = x.data();
  bf16* y1 = y.data();
  run_elementwise(
      stream, y.size(), "gelu",
      [=] __device__(std::size_t i) {
        float v[8];
        widen(in[i], v);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          v[j] = gelu_of(v[j]);
        }
        out[i] = narrow(v);
      },
      [=] __device__(std::size_t i) { y1[i] = as_bf16(gelu_of(as_float(x1[i]))); });
}

// Any of the four may be the same memory: a thread reads its elements before it writes them.
void gelu_grad(Stream& stream, std::span<bf16> dx, std::span<bf16> y, std::span<const bf16> dy,
               std::span<const bf16> x) {
  Eight *dx8 = eights(dx), *y8 = eights(y);
  const Eight *dy8 = eights(dy), *x8 = eights(x);
  bf16 *dx1 = dx.data(), *y1 = y.data();
  const bf16 *dy1 = dy.data(), *x1 = x.data();
  run_elementwise(
      stream, y.size(), "gelu_grad",
      [=] __device__(std::size_t i) {
        float v[8], d[8];
        widen(x8[i], v);
        widen(dy8[i], d);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float gate = gelu_gate(v[j]);
          d[j] *= gelu_slope(v[j], gate);
          v[j] *= gate;
        }
        dx8[i] = narrow(d);
        y8[i] = narrow(v);
      },
      [=] __device__(std::size_t i) {
        const float value = as_float(x1[i]), gate = gelu_gate(value);
        dx1[i] = as_bf16(as_float(dy1[i]) * gelu_slope(value, gate));
        y1[i] = as_bf16(value * gate);
      });
}

void cross_entropy(Stream& stream, std::span<float> losses, std::span<bf16> logits,
                   std::span<const std::int32_t> targets, int vocab, float scale) {
  const unsigned width = vocab >= 8192 ? 1024 : vocab >= 2048 ? 256 : 64;
  cross_entropy_kernel<<<static_cast<unsigned>(targets.size()), width, 0, stream_of(stream)>>>(
      losses.data(), logits.data(), targets.data(), vocab, scale);
  launched("cross_entropy");
}

void round_to_bf16(Stream& stream, std::span<bf16> out, std::span<const float> in) {
  Eight* out8 = eights(out);
  bf16* out1 = out.data();
  const float* from = in.data();
  run_elementwise(
      stream, out.size(), "to_bf16",
      [=] __device__(std::size_t i) {
        float v[8];
        load8(from + 8 * i, v);
        out8[i] = narrow(v);
      },
      [=] __device__(std::size_t i) { out1[i] = as_bf16(from[i]); });
}

void widen_to_float(Stream& stream, std::span<float> out, std::span<const bf16> in) {
  const Eight* in8 = eights(in);
  const bf16* in1 = in.data();
  float* into = out.data();
  run_elementwise(
      stream, out.size(), "to_float",
      [=] __device__(std::size_t i) {
        float v[8];
        widen(in8[i], v);
        store8(into + 8 * i, v);
      },
      [=] __device__(std::size_t i) { into[i] = as_float(in1[i]); });
}

void add(Stream& stream, std::span<float> into, std::span<const float> from) {
  float* a = into.data();
  const float* b = from.data();
  run_elementwise(
      stream, into.size(), "add",
      [=] __device__(std::size_t i) {
        float x[8], y[8];
        load8(a + 8 * i, x);
        load8(b + 8 * i, y);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          x[j] += y[j];
        }
        store8(a + 8 * i, x);
      },
      [=] __device__(std::size_t i) { a[i] += b[i]; });
}

void add(Stream& stream, std::span<bf16> into, std::span<const bf16> from) {
  Eight* a = eights(into);
  const Eight* b = eights(from);
  bf16* a1 = into.data();
  const bf16* b1 = from.data();
  run_elementwise(
      stream, into.size(), "add",
      [=] __device__(std::size_t i) {
        float x[8], y[8];
        widen(a[i], x);
        widen(b[i], y);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          x[j] += y[j];
        }
        a[i] = narrow(x);
      },
      [=] __device__(std::size_t i) { a1[i] = as_bf16(as_float(a1[i]) + as_float(b1[i])); });
}

void scale(Stream& stream, std::span<float> data, float factor) {
  float* a = data.data();
  run_elementwise(
      stream, data.size(), "scale",
      [=] __device__(std::size_t i) {
        float x[8];
        load8(a + 8 * i, x);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          x[j] *= factor;
        }
        store8(a + 8 * i, x);
      },
      [=] __device__(std::size_t i) { a[i] *= factor; });
}

void adamw(Stream& stream, std::span<float> main, std::span<float> first, std::span<float> second,
           std::span<const float> gradient, std::span<const float> factor, const AdamW& o) {
  ensure(main.size() % 4 == 0, "adamw works on whole vectors");
  const float c1 = 1.0f - std::pow(o.beta1, static_cast<float>(o.step));
  const float c2 = 1.0f - std::pow(o.beta2, static_cast<float>(o.step));
  adamw_kernel<<<blocks_for(main.size() / 4, threads, 132 * 16), threads, 0, stream_of(stream)>>>(
      reinterpret_cast<float4*>(main.data()), reinterpret_cast<float4*>(first.data()),
      reinterpret_cast<float4*>(second.data()), reinterpret_cast<const float4*>(gradient.data()),
      factor.empty() ? nullptr : factor.data(), main.size() / 4, o, c1, c2);
  launched("adamw");
}

void sum(Stream& stream, std::span<float> out, std::span<float> scratch,
         std::span<const float> data) {
  run_sum<false>(stream, out, scratch, data);
}

void sum_squares(Stream& stream, std::span<float> out, std::span<float> scratch,
                 std::span<const float> data) {
  run_sum<true>(stream, out, scratch, data);
}

void clip_factor(Stream& stream, std::span<float> factor, std::span<const float> squares,
                 float limit) {
  clip_kernel<<<1, 1, 0, stream_of(stream)>>>(factor.data(), squares.data(), limit);
  launched("clip_factor");
}

void fill_normal(Stream& stream, std::span<float> out, std::uint64_t seed, std::uint64_t first,
                 float deviation) {
  float* into = out.data();
  const auto one = [=] __device__(std::size_t i) {
    into[i] = normal_at(seed, first + i) * deviation;
  };
  run_elementwise(
      stream, out.size(), "fill_normal",
      [=] __device__(std::size_t i) {
        for (int j = 0; j < 8; ++j) {
          one(8 * i + j);
        }
      },
      one);
}

void fill_value(Stream& stream, std::span<float> out, float value) {
  float* into = out.data();
  const auto one = [=] __device__(std::size_t i) { into[i] = value; };
  run_elementwise(
      stream, out.size(), "fill_value",
      [=] __device__(std::size_t i) {
        for (int j = 0; j < 8; ++j) {
          one(8 * i + j);
        }
      },
      one);
}

void fill_pattern(Stream& stream, std::span<float> out, std::uint64_t seed, std::uint64_t rank,
                  std::uint64_t first) {
  float* into = out.data();
  const auto one = [=] __device__(std::size_t i) { into[i] = pattern_at(seed, rank, first + i); };
  run_elementwise(
      stream, out.size(), "fill_pattern",
      [=] __device__(std::size_t i) {
        for (int j = 0; j < 8; ++j) {
          one(8 * i + j);
        }
      },
      one);
}

void check_pattern(Stream& stream, std::span<float> wrong, std::span<float> scratch,
                   std::span<const float> data, std::uint64_t seed, std::uint64_t rank, int ranks,
                   std::uint64_t first) {
  check_pattern_kernel<<<sum_blocks, threads, 0, stream_of(stream)>>>(
      scratch.data(), data.data(), data.size(), seed, rank, ranks, first);
  last_sum_kernel<<<1, 512, 0, stream_of(stream)>>>(wrong.data(), scratch.data(),
                                                    static_cast<int>(sum_blocks));
  launched("check_pattern");
}

void hash_bits(Stream& stream, std::span<std::uint64_t> hash, std::span<const std::uint32_t> data,
               std::uint64_t first) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  hash_kernel<<<blocks_for(data.size(), threads, 132 * 8), threads, 0, stream_of(stream)>>>(
      reinterpret_cast<unsigned long long*>(hash.data()), data.data(), data.size(), first);
  launched("hash_bits");
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
