#pragma once
// Turning tree-sitter's nodes into ours. Used by tree.cpp alone.

#include <string_view>
#include <vector>

#include <tree_sitter/api.h>

#include "frontend/python/syntax.h"

namespace shardlint::python {

class Lowering {
 public:
  Lowering(Syntax& syntax, Names& names) : syntax_(syntax), names_(names) {}

  const Node* file(TSNode root);
  // The first piece of text that does not parse, or that nests too deeply; empty when there is
  // none.
  Span trouble;
  bool too_deep = false, too_many = false;

 private:
  struct Child {
    TSNode node;
    std::string_view type, field;
    bool named;
  };
  std::vector<Child> children(TSNode node);
  std::string_view text(TSNode node) const;
  Node* make(Tag tag, TSNode node);
  const Node* give_up(TSNode node, Tag tag);  // opaque or unread

  // lower_expressions.cpp
  const Node* expression(TSNode node);
  const Node* expression_of(std::string_view type, TSNode node);
  const Node* items(Tag tag, TSNode node);
  const Node* call(TSNode node);
  const Node* string(TSNode node);
  const Node* concatenated(TSNode node);
  const Node* compare(TSNode node);
  const Node* comprehension(Op made, TSNode node);
  const Node* subscript(TSNode node);
  const Node* slice(TSNode node);
  const Node* constant(TSNode node, Value value);

  // lower_statements.cpp
  const Node* block(TSNode node);
  bool broken(TSNode node, std::string_view type);
  void statement(TSNode node, Node* into);
  void simple(TSNode node, Node* into);
  const Node* assignment(TSNode node);
  const Node* if_statement(TSNode node);
  const Node* for_statement(TSNode node);
  const Node* try_statement(TSNode node);
  const Node* with_statement(TSNode node);
  const Node* function(TSNode node);
  const Node* parameters(TSNode node);
  const Node* class_definition(TSNode node);
  const Node* decorated(TSNode node);
  const Node* import_statement(TSNode node);
  const Node* import_from(TSNode node);

  Syntax& syntax_;
  Names& names_;
  int depth_ = 0;
  bool yields_ = false;
  std::size_t made_ = 0;
};

}  // namespace shardlint::python
