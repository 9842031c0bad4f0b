#pragma once
// A language server on two pipes: diagnostics (pushed, or pulled by clients that can), quick fixes,
// fix-all, ignore comments, and what a rule means on hover.

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "shardlint/lint.h"

namespace shardlint::lsp {

struct Hooks {
  // The findings of a text; `unsaved` are all open documents by path.
  std::function<Result(const std::string& path, std::string_view text,
                       const std::map<std::string, std::string>& unsaved)>
      lint;
  // Settings may have changed on disk: forget what is kept of them.
  std::function<void()> reload;
};

// Serves until `exit` or the end of the input. Returns 0 after an orderly shutdown, else 1.
int serve(std::FILE* in, std::FILE* out, const Hooks& hooks);

}  // namespace shardlint::lsp
