#pragma once
// Processes that leave nothing behind: each in a process group of its own, killed with everything
// that it started, also when this process is killed itself.

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace shardlint::verify {

double now();  // seconds of the monotonic clock

struct Command {
  std::vector<std::string> argv;                         // argv[0] is the path
  std::vector<std::pair<std::string, std::string>> set;  // laid over this environment
  std::vector<std::string> unset;
  std::string input;  // for its stdin, at most 60 KiB; nothing: /dev/null
};

struct State {
  enum class What { running, stopped, exited, signaled } what = What::running;
  int code = 0;  // exit status, or the signal that stopped or ended it
};

// A started process. The destructor kills its group and reaps it.
class Child {
 public:
  Child() = default;
  explicit Child(const Command& command);  // throws Error when it cannot be started
  ~Child();
  Child(Child&& other) noexcept { *this = std::move(other); }
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  int out() const { return out_; }  // non-blocking; -1 once closed
  int err() const { return err_; }
  void close_out();
  void close_err();
  // What it does now. An ended process stays a zombie until reap(), so that its number and its
  // group's cannot be given to anyone else meanwhile.
  State poll() const;
  void signal_group(int signal) const;
  void reap();  // kills what is left of the group and waits

 private:
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
};

// While it lives: INT, TERM, HUP and CHLD arrive through a descriptor, and orphans of our children
// become our own. The destructor kills every child that was not there before.
class Supervisor {
 public:
  Supervisor();
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  int fd() const { return fd_; }  // readable when signals wait
  // The first of INT, TERM, HUP that arrived; 0: none. Drains the descriptor.
  int interrupted();
  // Kills and reaps children that nobody started here; says how many there were.
  int sweep(const std::vector<pid_t>& keep = {}) const;

 private:
  int fd_ = -1;
  int signal_ = 0;
  int old_subreaper_ = 0;
  std::vector<pid_t> before_;
  std::string old_mask_;  // bytes of a sigset_t
};

std::string signal_name(int signal);  // SIGKILL

}  // namespace shardlint::verify
