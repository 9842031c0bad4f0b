#pragma once
// What a bash script would run, found without running anything.
//
// The reading is that of a plain start: no arguments, an empty environment but for what the user
// states. A text that hangs on this says so (env_default); a text that cannot be known says why.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "frontend/words.h"
#include "shardlint/diagnostic.h"

namespace shardlint::shell {

// A variable as a command finds it.
struct Environment {
  std::string name;
  Word value;
  Span set_at;           // the assignment or the unset
  bool unset = false;    // certainly not there
  bool exported = true;  // false: set in the script, but the command does not see it
  bool prefix = false;   // NAME=value before this very command
};

// One step from the file that was asked for to where a command stands.
struct Call {
  Span at;
  std::string what;  // "source env.sh", "bash train.sh", "function run", "bash -c", "here-document"
};

// An option of the batch system, from a #SBATCH line.
struct Header {
  Word option;  // as written: --nodes=2, or -N with `value`
  Word value;
  Span span;
};

struct Command {
  std::vector<Word> words;
  std::shared_ptr<const std::vector<Environment>> environment;  // sorted by name
  std::shared_ptr<const std::vector<Header>> headers;           // may be null
  std::vector<std::vector<Word>> around;  // srun ... before a `bash -c` that this came from
  std::vector<Call> chain;
  Span span;
  bool conditional = false;
  Span condition;  // what decides whether it runs
  Span piped_to;   // the end of the pipe that takes over its exit status; null: it counts
};

struct Options {
  std::map<std::string, std::string> environment;  // stated by the user
  std::vector<std::string> arguments;
  bool arguments_known = false;
};

struct Evaluation {
  std::vector<Command> commands;  // in the order in which they would run
  std::vector<Diagnostic> diagnostics;
  bool complete = true;  // false: a guard stopped it, more commands may follow
};

// `sources` receives the scripts that this one calls. The result refers to them and to `source`.
Evaluation evaluate(const Source& source, Sources& sources, const Disk& disk,
                    const Options& options = {});

}  // namespace shardlint::shell
