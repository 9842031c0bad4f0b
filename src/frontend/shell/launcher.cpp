#include "frontend/shell/launcher.h"
namespace shardlint::shell {
bool is_launch(const Command& command) {
  for (const Word& w : command.words) { const auto t = w.text(); if (t.ends_with(".py") || t == "-m") return true; }
  return false;
}
}
