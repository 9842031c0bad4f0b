#pragma once
// The statements of a script. The grammar sees a copy of the text in which every word is masked, so
// that it decides structure alone: which commands belong to which branch, loop, list or function.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/shell/lexer.h"
#include "frontend/shell/text.h"

namespace shardlint::shell {

struct Statement {
  enum class Kind {
    command,      // tokens [first, last)
    sequence,     // children in order
    both,         // a && b
    either,       // a || b
    pipeline,     // children
    negation,     // one child
    if_clause,    // condition, body, [condition, body]..., [else body]
    while_loop,   // condition, body
    until_loop,   // condition, body
    for_loop,     // tokens: name, words...; child: body
    case_clause,  // tokens: the subject; children: case_item
    case_item,    // tokens: patterns; child: body
    function,     // tokens: the name; child: body
    group,        // { ...; }: children
    subshell,     // ( ... ): children
    not_understood,
  };
  Kind kind = Kind::sequence;
  std::uint32_t begin = 0, end = 0;
  std::uint32_t first = 0, last = 0;
  std::vector<std::uint32_t> redirects;  // of compound statements: token indices
  std::vector<Statement> children;
  bool has_words = false;   // for_loop: `in` was there
  bool background = false;  // ended by &
};

// A text that is read as bash: a file, or what eval, bash -c or a here-document hands over.
struct Script {
  std::string text;
  Text origin;  // where the characters stand; empty for a file: at their own offset
  const Source* source = nullptr;
  std::uint16_t source_id = 0;
  std::string path;  // as seen from here; empty when it is no file
  Tokens tokens;
  Statement program;
  bool too_deep = false;

  Char at(std::uint32_t i) const;
  Text cut(std::uint32_t begin, std::uint32_t end, std::uint8_t flags) const;
  std::string_view view(std::uint32_t begin, std::uint32_t end) const {
    return std::string_view(text).substr(begin, end - begin);
  }
  std::string_view view(const Token& token) const { return view(token.begin, token.end); }
};

// Fills tokens and program of a script whose text is set.
void parse_statements(Script& script);

// The copy that the grammar sees, for tests.
std::string masked_text(std::string_view text, const Tokens& tokens);

}  // namespace shardlint::shell
