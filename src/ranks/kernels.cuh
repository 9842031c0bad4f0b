#pragma once
// What the kernels share: eight bf16 at a time, sums over a block, launches that are checked.

#include <span>

#include <cuda_bf16.h>

#include "ranks/bf16.h"
#include "ranks/cuda_call.h"
#include "ranks/device.h"

namespace shardlint::ranks::kernels {

// 16 bytes: the widest access a thread can make.
struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

__device__ inline void widen(const Eight& in, float (&out)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __bfloat1622float2(in.pair[i]);
    out[2 * i] = two.x;
    out[2 * i + 1] = two.y;
  }
}

__device__ inline Eight narrow(const float (&in)[8]) {
  Eight out;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out.pair[i] = __floats2bfloat162_rn(in[2 * i], in[2 * i + 1]);
  }
  return out;
}

__device__ inline float as_float(bf16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
__device__ inline bf16 as_bf16(float value) {
  return bf16{__bfloat16_as_ushort(__float2bfloat16_rn(value))};
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, step);
  }
  return value;
}

// Every thread gets the sum; the order is fixed. blockDim.x is a multiple of 32, at most 1024.
// `shared` is 32 floats that nobody else uses between two calls with the same one.
__device__ inline float block_sum(float value, float* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) {
    shared[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? shared[lane] : 0.0f);
}

__device__ inline float2 block_sum(float2 value, float2* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = {warp_sum(value.x), warp_sum(value.y)};
  __syncthreads();
  if (lane == 0) {
    shared[warp] = value;
  }
  __syncthreads();
  const float2 mine = lane < warps ? shared[lane] : float2{0, 0};
  return {warp_sum(mine.x), warp_sum(mine.y)};
}

inline void launched(const char* kernel) {
  cuda(cudaGetLastError(), kernel);
}

inline unsigned blocks_for(std::size_t items, unsigned threads, unsigned most = 1u << 20) {
  const std::size_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

inline Eight* eights(std::span<bf16> data) {
  return reinterpret_cast<Eight*>(data.data());
}
inline const Eight* eights(std::span<const bf16> data) {
  return reinterpret_cast<const Eight*>(data.data());
}

}  // namespace shardlint::ranks::kernels
