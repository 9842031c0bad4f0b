#pragma once
// The packed catalogue as embed_schema.py writes it. All numbers are LEB128 unless said otherwise.
//
//   pool      count, then every length, then the bytes; strings below are indices into it
//   head      repository, number of versions, each: version, commit, released (1 byte)
//   sections  keys, options, sections, classes, fields, files, leaves; each: number of rows, each
//   row:
//             its length in bytes, the mask of versions (bit i = version i), its content
//   renames   count, each: old, new, note
//   canonical count, each: name, spellings
//
// The data is ours and made at build time; reading past the end is a fault of ours, so ensure().

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "facts/value.h"

namespace shardlint {

struct SchemaBlob {
  std::string_view framework;
  std::span<const unsigned char> bytes;
};
std::span<const SchemaBlob> schema_blobs();
std::span<const std::string_view> schema_canonical_names();

class BlobReader {
 public:
  explicit BlobReader(std::span<const unsigned char> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  void read_pool() {
    pool_.resize(number());
    std::size_t total = 0;
    for (std::string_view& text : pool_) {
      const std::size_t size = number();
      text = std::string_view(static_cast<const char*>(nullptr), 0);
      lengths_.push_back(size);
      total += size;
    }
    ensure(static_cast<std::size_t>(end_ - at_) >= total, "schema blob: string pool");
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      pool_[i] = std::string_view(reinterpret_cast<const char*>(at_), lengths_[i]);
      at_ += lengths_[i];
    }
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const unsigned char c = byte();
      value |= static_cast<std::uint64_t>(c & 127) << shift;
      if (c < 128)
        return value;
    }
    ensure(false, "schema blob: number");
    return 0;
  }
  unsigned char byte() {
    ensure(at_ < end_, "schema blob: end");
    return *at_++;
  }
  std::string_view string() {
    const std::uint64_t index = number();
    ensure(index < pool_.size(), "schema blob: string");
    return pool_[index];
  }
  // Rows that are not wanted are stepped over.
  void skip(std::size_t size) {
    ensure(static_cast<std::size_t>(end_ - at_) >= size, "schema blob: skip");
    at_ += size;
  }
  const unsigned char* position() const { return at_; }
  void seek(const unsigned char* position) { at_ = position; }

  Value value() {
    switch (byte()) {
      case 0:
        return {};
      case 1:
        return false;
      case 2:
        return true;
      case 3:
        return static_cast<std::int64_t>(word());
      case 4:
        return std::bit_cast<double>(word());
      case 5:
        return string();
      case 6: {
        List list(number());
        for (Value& item : list)
          item = value();
        return list;
      }
      default: {
        Map map(number());
        for (auto& [key, item] : map) {
          key = string();
          item = value();
        }
        return map;
      }
    }
  }

 private:
  std::uint64_t word() {
    std::uint64_t out = 0;
    for (int i = 0; i < 64; i += 8)
      out |= static_cast<std::uint64_t>(byte()) << i;
    return out;
  }
  const unsigned char* at_;
  const unsigned char* end_;
  std::vector<std::string_view> pool_;
  std::vector<std::size_t> lengths_;
};

}  // namespace shardlint
