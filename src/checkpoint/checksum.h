#pragma once
// CRC-32 as zip files use it (libdeflate), joining of two of them, and the half of torch's
// serialization id that is made from them.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace shardlint::checkpoint {

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

// The CRC of A followed by B, from those of A and B and the length of B.
std::uint32_t crc32_joined(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b);

// c10::hash_combine over the CRCs of the non-empty records in file order.
std::uint64_t combined_crcs(std::span<const std::uint32_t> crcs);

}  // namespace shardlint::checkpoint
