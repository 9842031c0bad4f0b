#pragma once
// Starts the trainer, follows its events, and ends it: by itself, by its own watchdog, or by ours.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/events.h"

namespace shardlint::verify {

// shardlint-verify-cpu or -gpu: beside this executable, in its libexec folder, or where
// SHARDLINT_LIBEXEC says; never from PATH. Empty when it is not there.
std::string find_trainer(std::string_view backend);

struct Launch {
  std::string executable;
  std::string plan;  // JSON
  int processes = 1;
  bool rank_each = false;  // every process is one rank: RANK, WORLD_SIZE, LOCAL_RANK are set
  int first_rank = 0;      // of the only process, when someone else launched the other ranks
  bool expects_report = true;
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
  double start_deadline = 60, phase_deadline = 30, total_deadline = 600, heartbeat = 0.5;
  std::function<void(const Event&)> follow;  // may be empty
};

// How the trainer ended.
struct Ending {
  enum class Kind {
    finished,     // with a report; what it says is another matter
    cannot_run,   // 77
    refused,      // 2: bad plan, failed call, input or output
    hang,         // ended by its watchdog or ours
    died,         // a rank's process was killed or crashed
    stopped,      // a rank's process was stopped
    garbage,      // it ended, or went on, without telling what the contract asks for
    flood,        // more output than anything sensible
    late,         // the total deadline
    interrupted,  // we were told to end
    not_started,  // no hello
  } kind = Kind::finished;
  int rank = -1;  // the guilty one; -1: not one of them
  std::string phase, detail;
  double seconds = 0;  // from the start to the verdict
  int code = 0;        // exit status or signal
  std::string message;
};
std::string_view ending_name(Ending::Kind kind);

struct Launched {
  Ending ending;
  std::string report;  // JSON text; empty when there was none
  std::string log;
  int strays = 0;  // processes of the trainer's that outlived it and were killed
};

// Throws Error when it cannot be started at all. When it returns, nothing of it runs any more.
Launched launch(const Launch& what);

}  // namespace shardlint::verify
