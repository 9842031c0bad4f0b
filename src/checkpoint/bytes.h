#pragma once
// Little-endian numbers in byte buffers, and arithmetic on sizes that says when it overflows.

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::checkpoint {

using Shape = std::vector<std::int64_t>;

// The caller has checked that sizeof(T) bytes are there.
template <typename T>
T load_le(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;  // every machine that trains is little-endian, and so is every file we read
}

template <typename T>
void store_le(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}

// Elements of a shape; nothing when a size is negative or the product does not fit.
inline std::optional<std::uint64_t> volume(std::span<const std::int64_t> sizes) {
  std::uint64_t product = 1;
  bool overflow = false, empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      return std::nullopt;
    }
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(product, static_cast<std::uint64_t>(size), &product);
  }
  if (empty) {
    return 0;
  }
  return overflow ? std::nullopt : std::optional(product);
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace shardlint::checkpoint
