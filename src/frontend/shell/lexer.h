#pragma once
// The tokens of a bash text. Words are found here by hand: they nest quotes, expansions, commands
// and here-documents, and no grammar that we know of gets their ends right every time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::shell {

struct HereDocument {
  std::uint32_t begin = 0, end = 0;  // the body, without the line of the delimiter
  bool literal = false;              // the delimiter was quoted: nothing is expanded
  bool strip_tabs = false;
};

struct Token {
  enum class Kind {
    word,
    assignment,  // NAME=..., NAME+=..., NAME[..]=..., where a command may begin
    array,       // NAME=( ... )
    test,        // [[ ... ]]
    arithmetic,  // (( ... ))
    reserved,    // if then else elif fi for while until do done case esac in select function { } !
    control,     // ; & && || | |& ;; ;& ;;& ( ) newline
    redirect,    // [fd]OP with its target
  };
  Kind kind = Kind::word;
  std::uint32_t begin = 0, end = 0;
  std::uint32_t target = 0;  // redirect: where its word begins
  int document = -1;         // redirect <<: index into Tokens::documents
};

struct Fault {
  std::uint32_t at = 0;
  std::string what;
};

struct Tokens {
  std::vector<Token> tokens;
  std::vector<HereDocument> documents;
  std::vector<Fault> faults;  // an unterminated quote, nesting beyond the guard
  bool complete = true;       // false: the token guard stopped it
};

constexpr std::size_t max_tokens = 200000;
constexpr int max_nesting = 60;

Tokens tokenize(std::string_view text);

// Ends of nested things, for the expander. Each takes the offset after the opening characters and
// answers the offset of the closing one, or text.size() when there is none.
std::uint32_t end_of_command_substitution(std::string_view text, std::uint32_t from);  // at )
std::uint32_t end_of_parameter(std::string_view text, std::uint32_t from);             // at }
std::uint32_t end_of_backtick(std::string_view text, std::uint32_t from);              // at `
std::uint32_t end_of_double_quote(std::string_view text, std::uint32_t from);          // at "
// For `$((` or `((`: the offset of the `))`, or npos when it is no arithmetic after all.
std::size_t end_of_arithmetic(std::string_view text, std::size_t from);
// The end of the word that begins here. `stop_at` adds characters that end it.
std::uint32_t end_of_word(std::string_view text, std::uint32_t from);

// The words inside an array's parentheses, comments and newlines left out.
std::vector<Token> array_elements(std::string_view text, std::uint32_t begin, std::uint32_t end);

bool is_name(std::string_view text);
std::size_t name_length(std::string_view text);  // of the name it begins with, 0 for none

}  // namespace shardlint::shell
