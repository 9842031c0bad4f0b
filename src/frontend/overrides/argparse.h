#pragma once
// A Megatron-LM argument list, read as upstream's argparse reads it: flags must be complete
// (allow_abbrev=False), the last one wins, unknown ones and stray words are refused.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"
#include "frontend/words.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

struct ArgumentListOptions {
  std::string version;  // of Megatron-LM; empty: the newest
  // The script that is started (a file name). Scripts of upstream add flags of their own; one that
  // we do not know may do so too, and an unknown flag is then only suspicious.
  std::string script;
  // Whether a copy of the program's source that lies here declares a flag or has a word as a whole
  // literal; empty: there is none.
  std::function<bool(std::string_view)> declared = {};
};

struct ArgumentList {
  Facts facts;  // keys are argparse destinations; closed unless a word may hold more flags
  std::vector<Diagnostic> diagnostics;  // ARG1xx
};

// The words after the script's name.
ArgumentList read_argument_list(std::span<const Word> words, const ArgumentListOptions& options);

}  // namespace shardlint
