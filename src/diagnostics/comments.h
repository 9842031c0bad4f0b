#pragma once
// Where the # comments of a file are, and how far a statement reaches, without parsing it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnostics/suppress.h"

namespace shardlint {

struct LexedLine {
  std::uint32_t begin = 0, end = 0;  // bytes, without the line break
  std::uint32_t comment = 0;         // offset of `#`; `end` when there is none
  std::uint32_t indent = 0;          // columns of white space before the first content
  bool content = false;              // something other than white space and comment
  bool inside = false;               // starts inside a string, block scalar or bracket, or
                                     // continues the line above
  bool open_end = false;             // ends inside a string or text, or continues below: no comment
                                     // can be added
  bool opens_block = false;          // python: ends with a colon
  bool item = false;                 // yaml: starts with "- "
};

// One entry a line.
std::vector<LexedLine> lex_lines(std::string_view text, CommentSyntax syntax);

// The last line (index) of the node that starts at line `first`.
std::size_t node_end(const std::vector<LexedLine>& lines, std::size_t first, CommentSyntax syntax);

}  // namespace shardlint
