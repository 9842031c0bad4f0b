#pragma once
// The grammars that are linked in. Parsing a file goes through `parse_tree`, which checks the size
// and that the runtime takes the grammar; nothing else may call ts_parser_set_language.

#include <memory>
#include <string_view>

#include <tree_sitter/api.h>

namespace shardlint {

struct TreeDelete {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};
using Tree = std::unique_ptr<TSTree, TreeDelete>;

enum class Grammar { bash, python };

constexpr std::size_t max_parsed_bytes = 4u << 20;

// Null when the text is larger than `max_parsed_bytes`. Throws Error when the runtime refuses the
// grammar (a build from sources that do not belong together).
Tree parse_tree(Grammar grammar, std::string_view text);

}  // namespace shardlint
