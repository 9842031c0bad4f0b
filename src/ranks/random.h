#pragma once
// Numbers from a counter: the same on every backend, for any shard, without communication.

#include <cstdint>

#ifdef __CUDACC__
#define SHARDLINT_BOTH __host__ __device__
#else
#define SHARDLINT_BOTH
#endif

namespace shardlint::ranks {

// splitmix64's finaliser.
SHARDLINT_BOTH inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Nearly normal with mean 0 and deviation 1: the sum of four 16-bit uniforms, exact in integers,
// hence the same bits everywhere (log and cos are not).
SHARDLINT_BOTH inline float normal_at(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = mix(seed ^ mix(index));
  const std::int32_t total = static_cast<std::int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                                       ((bits >> 32) & 0xffff) + (bits >> 48)) -
                             131070;
  return static_cast<float>(total) * (1.0f / 37837.2f);  // 65536 * sqrt(4 / 12)
}

// An integer in [-7, 8]: sums over up to 64 ranks stay exact in bfloat16's range of integers only
// for few ranks, in float for all.
SHARDLINT_BOTH inline float pattern_at(std::uint64_t seed, std::uint64_t rank,
                                       std::uint64_t index) {
  return static_cast<float>(static_cast<int>(mix(seed ^ mix(rank * 0x10001 + 1) ^ index) & 15) - 7);
}

}  // namespace shardlint::ranks
