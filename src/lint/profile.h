#pragma once
// Where the time of a run goes: by phase, rule and rewrite. Threads add to it.

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/engine.h"
#include "shardlint/lint.h"

namespace shardlint {

class Profile {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Profile(bool wanted) : wanted_(wanted) {}
  bool wanted() const { return wanted_; }

  void add(std::string_view phase, std::string_view name, Clock::duration time);
  void add(const rules::Program& program, const rules::StepTimes& times);
  std::vector<Timing> timings() const;  // sorted by phase and name

 private:
  void add(std::string_view phase, std::string_view name, std::uint64_t calls,
           std::uint64_t nanoseconds);
  bool wanted_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Timing> timings_;
};

// The time of a block.
class PhaseClock {
 public:
  PhaseClock(Profile& profile, std::string_view phase, std::string_view name)
      : profile_(profile), phase_(phase), name_(name) {
    if (profile_.wanted()) {
      begin_ = Profile::Clock::now();
    }
  }
  ~PhaseClock() {
    if (profile_.wanted()) {
      profile_.add(phase_, name_, Profile::Clock::now() - begin_);
    }
  }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

 private:
  Profile& profile_;
  std::string_view phase_, name_;
  Profile::Clock::time_point begin_;
};

}  // namespace shardlint
