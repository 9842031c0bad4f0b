#pragma once
// What a command launches: the program behind torchrun, srun, uv, docker and their like, with the
// words that the program receives and what the launchers say of the world.

#include <string>
#include <vector>

#include "facts/config.h"
#include "frontend/shell/shell.h"

namespace shardlint::shell {

struct Launch {
  std::string framework;  // megatron-lm | megatron-bridge | verl; empty: some other program
  std::string program;    // pretrain_gpt.py as written, or the module: verl.trainer.main_ppo
  Span program_span;
  bool module = false;                   // run with -m
  std::vector<Word> arguments;           // what the program finds in sys.argv[1:]
  std::vector<Fact> facts;               // world_size, nnodes, nproc_per_node, env.NAME
  std::vector<Word> launcher;            // the words before the program, outermost first
  std::vector<Environment> environment;  // as the program finds it, and what it does not
  std::vector<Call> chain;
  Span span;  // the command
  bool conditional = false;
  Span condition;
  Span piped_to;         // as in Command
  Span passed_on;        // "$@" among the words, taken as nothing: started without arguments
  std::string instance;  // "command 2" of those that launch, empty when there is one only
};

// True when the command starts a Python program; cheap, for guards.
bool is_launch(const Command& command);

// The launches of a script, in order. Those without a framework are left out unless asked for.
std::vector<Launch> launches(const Evaluation& evaluation, bool all = false);

}  // namespace shardlint::shell
