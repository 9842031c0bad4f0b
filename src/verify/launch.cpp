#include "verify/launch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "verify/process.h"
#include "verify/watchdog.h"

namespace shardlint::verify {
namespace {

constexpr std::size_t flood = std::size_t{64} << 20;  // bytes of output of one process

struct Running {
  Child child;
  Lines out, err;
};

// Reads what a pipe holds now. False once it is closed.
template <typename Take>
bool drain(int fd, const Take& take) {
  char bytes[1 << 16];
  for (int i = 0; i < 64; ++i) {  // a flood must not keep the clock from being looked at
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n > 0) {
      take(std::string_view(bytes, static_cast<std::size_t>(n)));
    } else {
      return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
  }
  return true;
}

class Session {
 public:
  explicit Session(const Launch& what) : what_(what), watchdog_(what, now()) {
    for (int i = 0; i < what.processes; ++i) {
      Command command{{what.executable, "--plan", "-"}, what.set, what.unset, what.plan};
      if (what.rank_each && what.processes > 1) {
        command.set.emplace_back("RANK", std::to_string(i));
        command.set.emplace_back("LOCAL_RANK", std::to_string(i));
        command.set.emplace_back("WORLD_SIZE", std::to_string(what.processes));
      }
      running_.push_back({Child(command), {}, {}});
    }
  }

  Launched run() {
    Ending ending = watch();
    end_all(ending.kind == Ending::Kind::interrupted ? 1.5 : 1.0);
    Launched out{std::move(ending), watchdog_.report(), "", 0};
    running_.clear();
    out.strays = supervisor_.sweep();
    out.log = log_.text();
    return out;
  }

 private:
  Ending watch() {
    const double start = now();
    for (double last = start;;) {
      wait(0.05);
      const double time = now();
      if (time - last > 3) {
        watchdog_.slept(time - last);
      }
      last = time;
      bool settled = true, too_much = false;
      for (std::size_t i = 0; i < running_.size(); ++i) {
        const State state = running_[i].child.poll();
        const bool ended = state.what == State::What::exited || state.what == State::What::signaled;
        // An ended process's pipes may be held open by what it left behind: they are read until
        // they are empty, not until they close.
        read(i, ended);
        watchdog_.state(static_cast<int>(i), state, time);
        settled = settled && ended;
        too_much = too_much || running_[i].out.bytes() > flood || running_[i].err.bytes() > flood ||
                   running_[i].out.overlong();
      }
      if (const int signal = supervisor_.interrupted(); signal != 0) {
        return simple(Ending::Kind::interrupted, start, signal,
                      "ended on request: " + signal_name(signal));
      }
      if (too_much) {
        return simple(Ending::Kind::flood, start, 0,
                      fmt::format("the trainer wrote more than {} MiB, or a line without an end",
                                  flood >> 20));
      }
      if (auto verdict = watchdog_.verdict(now(), settled)) {
        return *verdict;
      }
    }
  }

  Ending simple(Ending::Kind kind, double start, int code, std::string message) {
    Ending ending;
    ending.kind = kind;
    ending.code = code;
    ending.seconds = now() - start;
    ending.message = std::move(message);
    return ending;
  }

  void wait(double seconds) {
    std::vector<pollfd> fds{{supervisor_.fd(), POLLIN, 0}};
    for (const Running& running : running_) {
      for (const int fd : {running.child.out(), running.child.err()}) {
        if (fd >= 0) {
          fds.push_back({fd, POLLIN, 0});
        }
      }
    }
    ::poll(fds.data(), fds.size(), static_cast<int>(seconds * 1000));
  }

  void read(std::size_t i, bool ended) {
    Running& running = running_[i];
    const auto prefix = [&](const char* what) {
      return what_.processes > 1 ? fmt::format("[{}] {}", i, what) : std::string(what);
    };
    const auto event_line = [&](const std::string& line) {
      if (line.empty()) {
        return;
      }
      if (const auto event = parse_event(line)) {
        watchdog_.event(static_cast<int>(i), *event, now());
        if (event->kind != "alive") {
          log_.add(prefix("") + line);
        }
        if (what_.follow) {
          what_.follow(*event);
        }
      } else {
        watchdog_.garbage(line);
        log_.add(prefix("stdout: ") + line);
      }
    };
    if (running.child.out() >= 0) {
      const bool open = drain(running.child.out(), [&](std::string_view bytes) {
        for (const std::string& line : running.out.feed(bytes)) {
          event_line(line);
        }
      });
      if (!open || ended) {
        event_line(running.out.rest());
      }
      if (!open) {
        running.child.close_out();
      }
    }
    if (running.child.err() >= 0) {
      const bool open = drain(running.child.err(), [&](std::string_view bytes) {
        for (const std::string& line : running.err.feed(bytes)) {
          log_.add(prefix("stderr: ") + line);
        }
      });
      if (!open) {
        running.child.close_err();
      }
    }
  }

  // SIGTERM first, so that communicators are aborted and unfinished checkpoints removed; a stopped
  // process has to be continued to hear it.
  void end_all(double grace) {
    for (const Running& running : running_) {
      running.child.signal_group(SIGTERM);
      running.child.signal_group(SIGCONT);
    }
    const double until = now() + grace;
    const auto any_runs = [&] {
      return std::any_of(running_.begin(), running_.end(), [](const Running& running) {
        const State::What what = running.child.poll().what;
        return what == State::What::running || what == State::What::stopped;
      });
    };
    while (any_runs() && now() < until) {
      wait(0.02);
      supervisor_.interrupted();
      for (std::size_t i = 0; i < running_.size(); ++i) {
        read(i, false);
      }
    }
  }

  const Launch& what_;
  Supervisor supervisor_;  // before the children: it must see them end
  std::vector<Running> running_;
  Watchdog watchdog_;
  Log log_;
};

}  // namespace

std::string find_trainer(std::string_view backend) {
  namespace fs = std::filesystem;
  const std::string name = "shardlint-verify-" + std::string(backend);
  std::vector<fs::path> folders;
  if (const char* set = std::getenv("SHARDLINT_LIBEXEC"); set && *set) {
    folders.emplace_back(set);
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    for (const char* beside : {"", "../libexec/shardlint", "ranks", "src/ranks", "../src/ranks"}) {
      folders.push_back(self / beside);
    }
  }
  for (const fs::path& folder : folders) {
    const std::string path = (folder / name).lexically_normal().string();
    if (::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) {
      return path;
    }
  }
  return {};
}

Launched launch(const Launch& what) {
  ensure(what.processes >= 1 && what.processes <= 4096, "a sensible number of processes");
  Session session(what);
  return session.run();
}

}  // namespace shardlint::verify
