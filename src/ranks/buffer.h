#pragma once
// Device memory with an owner, counted by what it is for.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "ranks/device.h"

namespace shardlint::ranks {

enum class Use { parameters, gradients, optimizer, gather, activations, other };
inline constexpr std::size_t uses = 6;

// What the calling thread (a rank) holds. A Buffer is made and destroyed by the same thread.
struct MemoryAccount {
  std::array<std::uint64_t, uses> now{};
  std::uint64_t total = 0, peak = 0;
  void add(Use use, std::uint64_t bytes) {
    now[static_cast<std::size_t>(use)] += bytes;
    total += bytes;
    peak = std::max(peak, total);
  }
  void remove(Use use, std::uint64_t bytes) {
    now[static_cast<std::size_t>(use)] -= bytes;
    total -= bytes;
  }
};
MemoryAccount& memory_account();

template <typename T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t count, Use use) : count_(count), use_(use) {
    if (count > 0) {
      data_ = static_cast<T*>(device_allocate(count * sizeof(T)));
      memory_account().add(use, count * sizeof(T));
    }
  }
  ~Buffer() {
    if (data_ != nullptr) {
      memory_account().remove(use_, count_ * sizeof(T));
      device_release(data_);
    }
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        use_(other.use_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(use_, other.use_);
    return *this;
  }
  std::span<T> all() { return {data_, count_}; }
  std::span<const T> all() const { return {data_, count_}; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  Use use_ = Use::other;
};

}  // namespace shardlint::ranks
