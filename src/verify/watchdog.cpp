#include "verify/watchdog.h"

#include <algorithm>

#include <fmt/core.h>

namespace shardlint::verify {
namespace {

constexpr double settle = 0.4;        // after one process fell: what the others say still counts
constexpr double report_grace = 2.0;  // between an error event and the end of its process
constexpr double stop_grace = 2.0;    // a stopped process may be continued
constexpr double end_grace = 5.0;     // between the report and the end of the processes

std::string place(const std::string& phase, const std::string& detail) {
  return "in phase " + phase + (detail.empty() ? "" : " (" + detail + ")");
}

// A rank that waits in a collective waits for another one.
bool waits_for_others(const RankPlace& place) {
  static constexpr std::string_view collectives[] = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "barrier", "wait"};
  return std::any_of(std::begin(collectives), std::end(collectives), [&](std::string_view name) {
    return place.detail.find(name) != std::string::npos;
  });
}

// Who holds the others up: a rank that stands still outside any collective, else the one that has
// stood still for longest. Null when nothing is known.
const RankPlace* guilty_of(const std::vector<RankPlace>& places) {
  const RankPlace* longest = nullptr;
  for (const RankPlace& place : places) {
    longest = !longest || place.idle > longest->idle ? &place : longest;
  }
  const RankPlace* found = longest;
  for (const RankPlace& place : places) {
    const bool still = place.idle > longest->idle / 2;
    if (still && !waits_for_others(place) &&
        (waits_for_others(*found) || place.idle > found->idle)) {
      found = &place;
    }
  }
  return found;
}

}  // namespace

std::string_view ending_name(Ending::Kind kind) {
  switch (kind) {
    case Ending::Kind::finished:
      return "finished";
    case Ending::Kind::cannot_run:
      return "cannot run here";
    case Ending::Kind::refused:
      return "error";
    case Ending::Kind::hang:
      return "hang";
    case Ending::Kind::died:
      return "rank died";
    case Ending::Kind::stopped:
      return "rank stopped";
    case Ending::Kind::garbage:
      return "no report";
    case Ending::Kind::flood:
      return "flood of output";
    case Ending::Kind::late:
      return "out of time";
    case Ending::Kind::interrupted:
      return "interrupted";
    case Ending::Kind::not_started:
      return "did not start";
  }
  return "";
}

Watchdog::Watchdog(const Launch& what, double start) : what_(what), start_(start) {
  processes_.resize(static_cast<std::size_t>(what.processes));
  for (Process& process : processes_) {
    process.seen = start;
  }
}

int Watchdog::rank_of(std::size_t process) const {
  return what_.rank_each ? what_.first_rank + static_cast<int>(process) : -1;
}

void Watchdog::event(int index, const Event& event, double now) {
  Process& process = processes_[static_cast<std::size_t>(index)];
  process.hello = true;
  process.seen = now;
  if (event.kind == "phase" || event.kind == "step") {
    process.phase = event.phase.empty() ? process.phase : event.phase;
    process.detail = event.detail;
  }
  if (event.kind == "alive") {
    if (!what_.rank_each) {
      places_ = event.ranks;
    }
    if (!event.ranks.empty()) {  // the one that is behind speaks for the process
      const auto behind =
          std::max_element(event.ranks.begin(), event.ranks.end(),
                           [](const RankPlace& a, const RankPlace& b) { return a.idle < b.idle; });
      process.phase = behind->phase.empty() ? process.phase : behind->phase;
      process.detail = behind->detail;
    }
    for (const RankPlace& seen : event.ranks) {
      if (what_.rank_each && seen.rank == rank_of(static_cast<std::size_t>(index))) {
        const auto known = std::find_if(places_.begin(), places_.end(),
                                        [&](const RankPlace& p) { return p.rank == seen.rank; });
        if (known == places_.end()) {
          places_.push_back(seen);
        } else {
          *known = seen;
        }
      }
    }
  }
  if (event.kind == "error" && !process.error) {
    process.error = event;
    process.error_at = now;
  }
  if (event.kind == "report" && !event.report.empty()) {
    report_ = event.report;
    reported_at_ = now;
  }
}

void Watchdog::garbage(std::string_view line) {
  if (garbage_lines_++ == 0) {
    first_garbage_ = std::string(line.substr(0, 120));
  }
}

void Watchdog::state(int index, const State& state, double now) {
  Process& process = processes_[static_cast<std::size_t>(index)];
  process.state = state;
  if (state.what == State::What::stopped) {
    process.stopped_at = process.stopped_at < 0 ? now : process.stopped_at;
  } else {
    process.stopped_at = -1;
  }
  if (!process.ended &&
      (state.what == State::What::exited || state.what == State::What::signaled)) {
    process.ended = true;
    process.ended_at = now;
  }
}

void Watchdog::slept(double seconds) {
  start_ += seconds;
  for (Process& process : processes_) {
    process.seen += seconds;
  }
}

Ending Watchdog::ending(Ending::Kind kind, int rank, const Process& process, double now,
                        std::string message) const {
  return {kind,
          rank,
          process.phase,
          process.detail,
          now - start_,
          process.state.code,
          std::move(message)};
}

// Looks at processes that have ended other than well. Killed before hang before refusal: a rank
// that was killed makes the others fail, never the other way round.
std::optional<Ending> Watchdog::of_the_ended(double now, bool settled) const {
  std::optional<Ending> found;
  int best = 0;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& p = processes_[i];
    const auto propose = [&](int weight, const Ending& what) {
      if (weight > best) {
        best = weight;
        found = what;
      }
    };
    const std::string who =
        what_.rank_each ? fmt::format("rank {}", rank_of(i)) : std::string("the trainer");
    // It reports what it has before it leaves.
    if (p.error && p.error->error == "hang" && (p.ended || now - p.error_at > report_grace)) {
      const Event& e = *p.error;
      Ending hang =
          ending(Ending::Kind::hang, e.rank, p, now,
                 e.message.empty() ? fmt::format("rank {} made no progress", e.rank) : e.message);
      hang.phase = e.phase.empty() ? hang.phase : e.phase;
      const auto accused = std::find_if(places_.begin(), places_.end(),
                                        [&](const RankPlace& at) { return at.rank == e.rank; });
      if (accused != places_.end()) {
        hang.detail = accused->detail;
        const RankPlace* guilty = guilty_of(places_);
        if (waits_for_others(*accused) && !waits_for_others(*guilty)) {
          hang.message = fmt::format("rank {} stands still {}: {}", guilty->rank,
                                     place(guilty->phase, guilty->detail), hang.message);
          hang.rank = guilty->rank;
          hang.phase = guilty->phase;
          hang.detail = guilty->detail;
        }
      }
      propose(3, hang);
    }
    if (!p.ended || now - p.ended_at < (settled ? 0 : settle)) {
      continue;
    }
    if (p.state.what == State::What::signaled) {
      propose(4, ending(Ending::Kind::died, rank_of(i), p, now,
                        fmt::format("{} was ended by {} {}", who, signal_name(p.state.code),
                                    place(p.phase, p.detail))));
    } else if (p.state.code == 77) {
      propose(2, ending(Ending::Kind::cannot_run, p.error ? p.error->rank : rank_of(i), p, now,
                        p.error ? p.error->message : "the trainer says that it cannot run here"));
    } else if (p.state.code > 1) {
      const bool told = p.error && !p.error->message.empty();
      const bool aborted = p.error && p.error->error == "aborted";
      Ending refused = ending(told ? Ending::Kind::refused : Ending::Kind::died,
                              p.error && p.error->rank >= 0 ? p.error->rank : rank_of(i), p, now,
                              told ? p.error->message
                                   : fmt::format("{} ended with status {} {}, without saying why",
                                                 who, p.state.code, place(p.phase, p.detail)));
      refused.phase = p.error && !p.error->phase.empty() ? p.error->phase : refused.phase;
      propose(aborted ? 1 : 2, refused);
    }
  }
  // What one process says alone may be a consequence: wait until the others have spoken.
  return found;
}

std::optional<Ending> Watchdog::of_the_silent(double now) const {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& p = processes_[i];
    if (p.ended) {
      continue;
    }
    const std::string who =
        what_.rank_each ? fmt::format("rank {}", rank_of(i)) : std::string("the trainer");
    if (p.stopped_at >= 0 && now - p.stopped_at >= stop_grace) {
      return ending(Ending::Kind::stopped, rank_of(i), p, now,
                    fmt::format("{} was stopped by {} {}", who, signal_name(p.state.code),
                                place(p.phase, p.detail)));
    }
    if (!p.hello && now - start_ > what_.start_deadline) {
      return ending(Ending::Kind::not_started, rank_of(i), p, now,
                    fmt::format("{} said nothing for {:.1f} s", who, now - start_));
    }
    if (p.hello && now - p.seen > silence()) {
      return ending(Ending::Kind::hang, rank_of(i), p, now,
                    fmt::format("{} has given no sign of life for {:.1f} s {}", who, now - p.seen,
                                place(p.phase, p.detail)));
    }
  }
  return {};
}

// The trainer's own watchdog should have spoken by now: this is for when it does not.
std::optional<Ending> Watchdog::of_the_idle(double now) const {
  const RankPlace* behind = guilty_of(places_);
  if (!behind || behind->idle <= what_.phase_deadline + 2) {
    return {};
  }
  Ending hang;
  hang.kind = Ending::Kind::hang;
  hang.rank = behind->rank;
  hang.phase = behind->phase;
  hang.detail = behind->detail;
  hang.seconds = now - start_;
  hang.message = fmt::format("rank {} has not moved for {:.1f} s {}", behind->rank, behind->idle,
                             place(behind->phase, behind->detail));
  return hang;
}

std::optional<Ending> Watchdog::verdict(double now, bool settled) const {
  const bool all_ended =
      std::all_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.ended; });
  if (auto found = of_the_ended(now, settled && all_ended)) {
    return found;
  }
  if (all_ended && settled) {
    const bool ok = !report_.empty() || !what_.expects_report;
    if (ok) {
      return ending(Ending::Kind::finished, -1, processes_[0], now, "");
    }
    return ending(Ending::Kind::garbage, -1, processes_[0], now,
                  garbage_lines_ > 0
                      ? fmt::format("the trainer ended without a report; the first of {} lines "
                                    "that are no events: {}",
                                    garbage_lines_, first_garbage_)
                      : std::string("the trainer ended without a report"));
  }
  if (reported_at_ >= 0) {
    if (now - reported_at_ > end_grace) {
      return ending(
          Ending::Kind::hang, -1, processes_[0], now,
          fmt::format("the trainer reported and then did not end for {:.0f} s", end_grace));
    }
    return {};
  }
  if (garbage_lines_ > 10000) {
    return ending(Ending::Kind::garbage, -1, processes_[0], now,
                  "the trainer writes lines that are no events: " + first_garbage_);
  }
  if (auto found = of_the_silent(now)) {
    return found;
  }
  if (auto found = of_the_idle(now)) {
    return found;
  }
  if (now - start_ > what_.total_deadline) {
    const auto slowest = std::find_if(processes_.begin(), processes_.end(),
                                      [](const Process& p) { return !p.ended; });
    const auto i = static_cast<std::size_t>(slowest - processes_.begin());
    return ending(Ending::Kind::late, rank_of(i), *slowest, now,
                  fmt::format("not done after {:.0f} s, {}", now - start_,
                              place(slowest->phase, slowest->detail)));
  }
  return {};
}

}  // namespace shardlint::verify
