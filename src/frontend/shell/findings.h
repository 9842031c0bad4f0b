#pragma once
// What is wrong with a launch script itself, whatever the program makes of its words. Codes SHL2xx.

#include <vector>

#include "frontend/shell/launcher.h"

namespace shardlint::shell {

// SHL201 placeholder-path           a path that was never filled in
// SHL202 empty-path                 a path that is certainly empty
// SHL203 gpus-disagree-with-batch   more processes or nodes than the batch system was asked for
// SHL204 variable-not-exported      set in the script, not seen by the program
// SHL205 variable-for-another-command  set for a command that is not the program
// SHL206 literal-quotes             quotes that the program receives as part of a word
// SHL207 flags-run-as-command       words that were meant for the program, cut off before it ends
// SHL208 exit-status-lost           a pipe reports another command's status for the program's
std::vector<Diagnostic> script_findings(const Evaluation& evaluation,
                                        const std::vector<Launch>& launches);

}  // namespace shardlint::shell
