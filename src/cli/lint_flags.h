#pragma once
// The options of linting that several commands share.

#include "shardlint/lint.h"

namespace CLI {
class App;
}

namespace shardlint {

// Binds --select, --target, --set, --env, --world-size, --gpu, ... to `options`, which outlives the
// app's parsing.
void add_lint_flags(CLI::App& app, Options& options);

}  // namespace shardlint
