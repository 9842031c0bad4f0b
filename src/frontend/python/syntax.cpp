#include "frontend/python/syntax.h"

#include <bit>

#include "base/error.h"

namespace shardlint::python {

NameTable::NameTable() {
  intern("");
}

NameTable::~NameTable() {
  for (const std::atomic<std::string*>& block : blocks_) {
    delete[] block.load();
  }
}

// Name n stands in the block of the highest bit of n + the first block's size.
std::string_view NameTable::text(Name name) const {
  const std::uint64_t at = std::uint64_t{name} + (1u << first_bits);
  const auto bit = static_cast<unsigned>(std::bit_width(at)) - 1;
  return blocks_[bit - first_bits].load(std::memory_order_acquire)[at - (std::uint64_t{1} << bit)];
}

Name NameTable::intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(text); found != index_.end()) {
    return found->second;
  }
  const std::uint64_t at = index_.size() + (1u << first_bits);
  const auto bit = static_cast<unsigned>(std::bit_width(at)) - 1;
  ensure(bit - first_bits < blocks, "more names than a run can hold");
  std::atomic<std::string*>& block = blocks_[bit - first_bits];
  if (!block.load(std::memory_order_relaxed)) {
    block.store(new std::string[std::size_t{1} << bit], std::memory_order_release);
  }
  std::string& kept = block.load(std::memory_order_relaxed)[at - (std::uint64_t{1} << bit)];
  kept = text;
  const auto name = static_cast<Name>(index_.size());
  index_.emplace(kept, name);
  return name;
}

Name Names::intern(std::string_view text) {
  if (const auto found = index_.find(text); found != index_.end()) {
    return found->second;
  }
  const Name name = table_->intern(text);
  index_.emplace(table_->text(name), name);
  return name;
}

// The nodes' own vectors live in the same memory resource, so that nothing needs destroying.
Syntax::~Syntax() = default;

Node* Syntax::make(Tag tag, std::uint32_t begin, std::uint32_t end) {
  void* place = memory_.allocate(sizeof(Node), alignof(Node));
  Node* node = new (place) Node(tag, &memory_);
  node->begin = begin;
  node->end = end;
  return node;
}

}  // namespace shardlint::python
