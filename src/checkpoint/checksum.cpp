#include "checkpoint/checksum.h"

#include <array>

#include <libdeflate.h>

namespace shardlint::checkpoint {
namespace {

// Polynomials over GF(2) of degree below 32, bit-reversed as zip's CRC is, modulo its polynomial.
std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    product ^= (a & bit) != 0 ? b : 0;
    b = (b >> 1) ^ ((b & 1) != 0 ? 0xEDB88320 : 0);
  }
  return product;
}

}  // namespace

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

std::uint32_t crc32_joined(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) {
  std::uint32_t shift = 0x80000000, square = 0x00800000;  // 1, and x^8: one byte
  for (; length_of_b != 0; length_of_b >>= 1, square = times(square, square)) {
    if ((length_of_b & 1) != 0) {
      shift = times(shift, square);
    }
  }
  return times(a, shift) ^ b;
}

std::uint64_t combined_crcs(std::span<const std::uint32_t> crcs) {
  std::uint64_t hash = 0;
  for (const std::uint32_t crc : crcs) {
    hash ^= std::uint64_t{crc} + 0x9E3779B9 + (hash << 6) + (hash >> 2);
  }
  return hash;
}

}  // namespace shardlint::checkpoint
