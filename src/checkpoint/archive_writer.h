#pragma once
// Writes what torch.save writes: pickles of protocol 2 in a zip of stored, 64-byte aligned records.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/bytes.h"
#include "checkpoint/dtype.h"

namespace shardlint::checkpoint {

// A Python value that is no tensor.
struct Leaf {
  struct Entry;  // a name and its leaf
  struct Tuple {
    std::vector<Leaf> of;
  };
  struct List {
    std::vector<Leaf> of;
  };
  struct Dict {
    std::vector<Entry> of;
  };
  struct Namespace {
    std::vector<Entry> of;
  };  // argparse.Namespace
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Tuple, List, Dict,
               Namespace>
      value;
};
struct Leaf::Entry {
  std::string name;
  Leaf leaf;
};

// Emits opcodes of protocol 2 without a memo: any pickle.load and torch's weights_only reader
// understand them.
class PickleWriter {
 public:
  PickleWriter() : out_("\x80\x02") {}
  void raw(std::string_view opcodes) { out_ += opcodes; }
  void global(std::string_view module, std::string_view name);
  void text(std::string_view value);
  void integer(std::int64_t value);
  void tuple(std::span<const std::int64_t> values);
  void size(std::span<const std::int64_t> values);  // torch.Size
  void object(std::string_view module,
              std::string_view name);  // opens the state: fields, then end_object
  void end_object() { out_ += "ub"; }
  void leaf(const Leaf& leaf);
  std::string done() { return std::move(out_) + "."; }
  std::size_t length() const { return out_.size(); }

 private:
  std::string out_;
};

// An archive apart from the values: they go between `head` and `tail`.
struct ArchiveFrame {
  std::string head;
  std::uint64_t data_size = 0;
  std::string tail;
  std::uint64_t length() const { return head.size() + data_size + tail.size(); }
};

// The archive of one contiguous CPU tensor. `crc` is that of the values; the lengths do not depend
// on it, so a frame made with 0 tells the place of everything.
ArchiveFrame tensor_archive(DType dtype, std::span<const std::int64_t> shape, std::uint32_t crc);
std::string leaf_archive(const Leaf& leaf);

}  // namespace shardlint::checkpoint
