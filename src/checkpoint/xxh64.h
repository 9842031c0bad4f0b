#pragma once
// XXH64 of a stream of bytes (seed 0), so that a digest printed here can be compared with xxhsum's.

#include <cstdint>
#include <span>
#include <string>

namespace shardlint::checkpoint {

class Xxh64 {
 public:
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;
  std::string text() const;  // 16 hexadecimal digits

 private:
  void stripe(const std::byte* block);
  std::uint64_t lanes_[4] = {0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579};
  std::uint64_t total_ = 0;
  std::byte rest_[32] = {};
  std::size_t held_ = 0;
};

}  // namespace shardlint::checkpoint
