#pragma once
// bfloat16 as stored: the upper half of a float. Conversion rounds to nearest even, as the GPU
// does.

#include <bit>
#include <cstdint>

namespace shardlint::ranks {

struct bf16 {
  std::uint16_t bits = 0;
  bool operator==(const bf16&) const = default;
};

inline float to_float(bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline bf16 to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {0x7fff};  // NaN stays NaN
  }
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

}  // namespace shardlint::ranks
