#pragma once
// Judges what is seen of the trainer's processes: who hangs, who died, when it has been too long.
// Knows no processes and no clock, so that it can be tested by telling it a story.

#include <optional>
#include <string>
#include <vector>

#include "verify/launch.h"
#include "verify/process.h"

namespace shardlint::verify {

class Watchdog {
 public:
  Watchdog(const Launch& what, double start);
  void event(int process, const Event& event, double now);
  void garbage(std::string_view line);
  void state(int process, const State& state, double now);
  // The time between two looks was long: we were stopped ourselves. Deadlines move.
  void slept(double seconds);
  // A verdict, once there is one. `settled`: pipes are drained and all processes have ended.
  std::optional<Ending> verdict(double now, bool settled) const;
  const std::string& report() const { return report_; }

 private:
  struct Process {
    bool hello = false, ended = false;
    State state;
    double seen = 0, stopped_at = -1, ended_at = -1, error_at = -1;
    std::string phase = "start", detail;
    std::optional<Event> error;
  };
  int rank_of(std::size_t process) const;
  Ending ending(Ending::Kind kind, int rank, const Process& process, double now,
                std::string message) const;
  std::optional<Ending> of_the_ended(double now, bool settled) const;
  std::optional<Ending> of_the_silent(double now) const;
  std::optional<Ending> of_the_idle(double now) const;
  double silence() const { return 3 * what_.heartbeat + 2; }

  const Launch& what_;
  double start_;
  std::vector<Process> processes_;
  std::vector<RankPlace> places_;  // of the last `alive`, by rank
  std::string report_, first_garbage_;
  double reported_at_ = -1;
  std::size_t garbage_lines_ = 0;
};

}  // namespace shardlint::verify
