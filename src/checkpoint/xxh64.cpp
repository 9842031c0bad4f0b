#include "checkpoint/xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checkpoint/bytes.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9,
                        p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;

std::uint64_t round_of(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * p2, 31) * p1;
}

}  // namespace

void Xxh64::stripe(const std::byte* block) {
  for (std::size_t i = 0; i < 4; ++i) {
    lanes_[i] = round_of(lanes_[i], load_le<std::uint64_t>(block + 8 * i));
  }
}

void Xxh64::add(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  if (held_ != 0) {
    const std::size_t take = std::min(bytes.size(), 32 - held_);
    std::copy_n(bytes.data(), take, rest_ + held_);
    held_ += take;
    bytes = bytes.subspan(take);
    if (held_ < 32) {
      return;
    }
    stripe(rest_);
    held_ = 0;
  }
  while (bytes.size() >= 32) {
    stripe(bytes.data());
    bytes = bytes.subspan(32);
  }
  std::copy(bytes.begin(), bytes.end(), rest_);
  held_ = bytes.size();
}

std::uint64_t Xxh64::value() const {
  std::uint64_t hash = p5;
  if (total_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) {
      hash = (hash ^ round_of(0, lane)) * p1 + p4;
    }
  }
  hash += total_;
  std::size_t at = 0;
  for (; at + 8 <= held_; at += 8) {
    hash = std::rotl(hash ^ round_of(0, load_le<std::uint64_t>(rest_ + at)), 27) * p1 + p4;
  }
  if (at + 4 <= held_) {
    hash = std::rotl(hash ^ (load_le<std::uint32_t>(rest_ + at) * p1), 23) * p2 + p3;
    at += 4;
  }
  for (; at < held_; ++at) {
    hash = std::rotl(hash ^ (static_cast<std::uint64_t>(rest_[at]) * p5), 11) * p1;
  }
  hash ^= hash >> 33;
  hash *= p2;
  hash ^= hash >> 29;
  hash *= p3;
  return hash ^ (hash >> 32);
}

std::string Xxh64::text() const {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[(value() >> shift) & 15];
  }
  return text;
}

}  // namespace shardlint::checkpoint
