#include "lint/profile.h"

namespace shardlint {

void Profile::add(std::string_view phase, std::string_view name, std::uint64_t calls,
                  std::uint64_t nanoseconds) {
  Timing& timing = timings_[{std::string(phase), std::string(name)}];
  timing.phase = phase;
  timing.name = name;
  timing.calls += calls;
  timing.nanoseconds += nanoseconds;
}

void Profile::add(std::string_view phase, std::string_view name, Clock::duration time) {
  const std::lock_guard lock(mutex_);
  const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  add(phase, name, 1, static_cast<std::uint64_t>(whole.count()));
}

void Profile::add(const rules::Program& program, const rules::StepTimes& times) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < times.calls.size(); ++i) {
    const rules::ProgramStep& step = program.steps[i];
    add(step.rewrite ? "rewrite" : "rule", step.rewrite ? step.rewrite->id : step.rule->id,
        times.calls[i], times.nanoseconds[i]);
  }
}

std::vector<Timing> Profile::timings() const {
  const std::lock_guard lock(mutex_);
  std::vector<Timing> out;
  for (const auto& [key, timing] : timings_) {
    out.push_back(timing);
  }
  return out;
}

}  // namespace shardlint
