#include "frontend/python/syntax.h"

namespace shardlint::python {

Names::Names() {
  intern("");
}

Name Names::intern(std::string_view text) {
  if (auto found = index_.find(text); found != index_.end()) {
    return found->second;
  }
  const auto name = static_cast<Name>(texts_.size());
  texts_.emplace_back(text);
  index_.emplace(texts_.back(), name);
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
