#pragma once
// What was understood of a command or a script, as text: for users who doubt a finding.

#include <span>
#include <string>

#include "frontend/shell/shell.h"

namespace shardlint::shell {

// Every command with its words, where each was written, and what is not known of it and why.
// `all`: also commands that launch nothing.
std::string explain(const Evaluation& evaluation, bool all = false);

// The words after `shardlint argv --`. A single word that is a file is read as a script; anything
// else is a command, each word as the caller's shell already made it.
std::string explain_words(std::span<const std::string> words, Sources& sources, const Disk& disk,
                          const Options& options = {}, bool all = false);

}  // namespace shardlint::shell
