#include "frontend/grammars/grammars.h"

#include <string>

#include "base/error.h"

extern "C" {
const TSLanguage* tree_sitter_bash();
const TSLanguage* tree_sitter_python();
}

namespace shardlint {
namespace {

struct ParserDelete {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};

// One parser a thread and grammar: making one costs more than parsing a short script.
TSParser* parser_of(Grammar grammar) {
  thread_local std::unique_ptr<TSParser, ParserDelete> parsers[2];
  std::unique_ptr<TSParser, ParserDelete>& parser = parsers[static_cast<int>(grammar)];
  if (!parser) {
    parser.reset(ts_parser_new());
    const TSLanguage* language =
        grammar == Grammar::bash ? tree_sitter_bash() : tree_sitter_python();
    if (!ts_parser_set_language(parser.get(), language)) {
      const std::uint32_t version = ts_language_abi_version(language);
      parser.reset();
      throw Error("the parser runtime takes grammars of ABI " +
                  std::to_string(TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION) + " to " +
                  std::to_string(TREE_SITTER_LANGUAGE_VERSION) + ", the " +
                  (grammar == Grammar::bash ? "bash" : "Python") + " grammar has " +
                  std::to_string(version));
    }
  }
  return parser.get();
}

}  // namespace

Tree parse_tree(Grammar grammar, std::string_view text) {
  if (text.size() > max_parsed_bytes) {
    return nullptr;
  }
  TSParser* parser = parser_of(grammar);
  ts_parser_reset(parser);
  return Tree(ts_parser_parse_string(parser, nullptr, text.data(),
                                     static_cast<std::uint32_t>(text.size())));
}

}  // namespace shardlint
