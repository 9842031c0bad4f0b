#pragma once
// Tokens of the expression language.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/expr.h"

namespace shardlint::rules {

enum class TokenKind : std::uint8_t { end, name, integer, real, string, sign };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // as written; for names and signs what they are
  std::size_t offset = 0;
  std::string string;  // the value of a string literal
  std::int64_t integer = 0;
  double real = 0;
};

// The last token is `end`. A fault is reported once and ends the list.
std::vector<Token> lex(std::string_view source, std::vector<ExprError>& errors);

}  // namespace shardlint::rules
