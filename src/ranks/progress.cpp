#include "ranks/progress.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include <unistd.h>

namespace shardlint::ranks {

namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point start = Clock::now();

struct Standing {
  std::string phase = "start", detail;
  double moved = 0, entered = 0;
};

std::mutex mutex;
std::map<int, Standing> standings;
std::map<std::string, double> spent;  // rank 0's (or the process's only rank's) seconds a phase
std::condition_variable stopped;
bool stopping = false;
std::thread watchdog;
thread_local int rank_here = -1;

std::string time_field() {
  char text[32];
  std::snprintf(text, sizeof text, "\"t\":%.4f", seconds_since_start());
  return text;
}

std::string alive_list() {
  std::string list;
  for (const auto& [rank, at] : standings) {
    char idle[32];
    std::snprintf(idle, sizeof idle, "%.3f", seconds_since_start() - at.moved);
    list += (list.empty() ? "{\"rank\":" : ",{\"rank\":") + std::to_string(rank) +
            ",\"phase\":" + quoted(at.phase) + ",\"detail\":" + quoted(at.detail) +
            ",\"idle_s\":" + idle + "}";
  }
  return "\"rank\":-1,\"ranks\":[" + list + "]";
}

}  // namespace

double seconds_since_start() {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void emit(const std::string& event, const std::string& fields) {
  const std::string line =
      "{\"event\":\"" + event + "\"," + time_field() + (fields.empty() ? "" : ",") + fields + "}\n";
  static std::mutex output;
  const std::lock_guard lock(output);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t wrote = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (wrote <= 0) {
      return;  // the reader is gone; its exit code tells it more than we could
    }
    done += static_cast<std::size_t>(wrote);
  }
}

void become_rank(int rank) {
  rank_here = rank;
  const std::lock_guard lock(mutex);
  standings[rank].moved = standings[rank].entered = seconds_since_start();
}

int this_rank() {
  return rank_here;
}

void enter_phase(const std::string& phase, const std::string& detail) {
  {
    const std::lock_guard lock(mutex);
    Standing& at = standings[rank_here];
    const double now = seconds_since_start();
    if (rank_here == standings.begin()->first) {
      spent[at.phase] += now - at.entered;
    }
    at = {phase, detail, now, now};
  }
  emit("phase", "\"rank\":" + std::to_string(rank_here) + ",\"phase\":" + quoted(phase) +
                    ",\"detail\":" + quoted(detail));
}

void move_on(const std::string& detail) {
  const std::lock_guard lock(mutex);
  Standing& at = standings[rank_here];
  at.detail = detail;
  at.moved = seconds_since_start();
}

std::string current_phase(int rank) {
  const std::lock_guard lock(mutex);
  const auto found = standings.find(rank);
  return found == standings.end() ? "start" : found->second.phase;
}

double seconds_in(const std::string& phase) {
  const std::lock_guard lock(mutex);
  const auto found = spent.find(phase);
  return found == spent.end() ? 0 : found->second;
}

void start_watchdog(double heartbeat, const Patience& patience,
                    std::function<void(const Hang&)> on_hang) {
  stopping = false;
  watchdog = std::thread([=, on_hang = std::move(on_hang)] {
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, std::chrono::duration<double>(heartbeat),
                             [] { return stopping; })) {
      const std::string list = alive_list();
      const Standing* behind = nullptr;
      int who = -1;
      for (const auto& [rank, at] : standings) {
        if (behind == nullptr || at.moved < behind->moved) {
          behind = &at;
          who = rank;
        }
      }
      const double now = seconds_since_start();
      // Joining waits for other processes to be started, which is the launcher's time.
      const bool joining =
          behind != nullptr && (behind->phase == "join" || behind->phase == "start");
      const double limit = joining ? std::max(patience.start, patience.phase) : patience.phase;
      const bool late = behind != nullptr && (now - behind->moved > limit || now > patience.total);
      const Hang hang =
          late ? Hang{who, behind->phase, behind->detail, now - behind->moved} : Hang{};
      lock.unlock();
      emit("alive", list);
      if (late) {
        on_hang(hang);
        return;
      }
      lock.lock();
    }
  });
}

void stop_watchdog() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    stopped.notify_all();
  }
  if (watchdog.joinable()) {
    watchdog.join();
  }
}

}  // namespace shardlint::ranks
