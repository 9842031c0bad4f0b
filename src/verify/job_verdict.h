#pragma once
// What the end, the log and the checkpoint of a user's own job prove.

#include <ctime>
#include <string>

#include "verify/follow.h"
#include "verify/judge.h"
#include "verify/process.h"
#include "verify/verify.h"

namespace shardlint::verify {

struct Ended {
  State state;
  bool stalled = false, late = false;
  int signal = 0;  // that told us to end
  double seconds = 0, silent = 0;
  int strays = 0;
};

struct JobRun {
  Ended ended;
  Followed log;
  std::string text;
};

// `checkpoint`: the folder that the job saves to, or empty; `since`: when it was started.
Judgement judge_run(const VerifyFlags& flags, const VerifyHooks& hooks, const Planned& planned,
                    const JobRun& run, const std::string& checkpoint, time_t since);

}  // namespace shardlint::verify
