#pragma once
// The three kinds of fault and how each is told: a mistake in the user's input is a Diagnostic;
// work that cannot be done is an Error; a mistake of ours is ensure().

#include <source_location>
#include <stdexcept>
#include <string>

namespace shardlint {

// Says what was attempted and on what. Caught in main, in the language server's loop and in a
// rank's thread, nowhere else.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An invariant of the program. Never reachable by input; kept in release builds.
inline void ensure(bool ok, const char* what,
                   std::source_location at = std::source_location::current()) {
  if (!ok) {
    throw std::logic_error(std::string(at.file_name()) + ":" + std::to_string(at.line()) +
                           ": internal error: " + what);
  }
}

}  // namespace shardlint
