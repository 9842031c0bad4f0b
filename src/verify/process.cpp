#include "verify/process.h"

#include <algorithm>
#include <cerrno>
#include <map>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"

extern char** environ;

namespace shardlint::verify {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw Error(std::string("cannot make a pipe: ") + ::strerror(errno));
    }
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    for (const int fd : {read, write}) {
      if (fd >= 0) {
        ::close(fd);
      }
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int take(int& end) { return std::exchange(end, -1); }
};

std::vector<std::string> environment_of(const Command& command) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) {
      merged.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  for (const std::string& name : command.unset) {
    merged.erase(name);
  }
  for (const auto& [name, value] : command.set) {
    merged[name] = value;
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : merged) {
    out.push_back(name + "=" + value);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char** argv, char** envp, int in, int out, int err, int report,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);  // it died before the line above
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  if (::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0 && ::dup2(err, 2) >= 0) {
    ::execve(argv[0], argv, envp);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
  ::_exit(127);
}

std::vector<pid_t> children() {
  std::vector<pid_t> out;
  const RealDisk disk;
  const std::string self = std::to_string(::getpid());
  for (const std::string& name : disk.list("/proc")) {
    const auto pid = to_integer(name);
    if (!pid) {
      continue;
    }
    const auto stat = disk.read("/proc/" + name + "/stat");
    const auto close = stat ? stat->rfind(')') : std::string::npos;
    if (close == std::string::npos || close + 4 > stat->size()) {
      continue;
    }
    const auto fields = split(std::string_view(*stat).substr(close + 2), ' ');
    if (fields.size() > 1 && fields[1] == self) {
      out.push_back(static_cast<pid_t>(*pid));
    }
  }
  return out;
}

}  // namespace

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Child::Child(const Command& command) {
  ensure(!command.argv.empty() && command.input.size() <= 60 * 1024, "a command that can start");
  std::vector<std::string> arguments = command.argv, variables = environment_of(command);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  Pipe out, err, in, report;
  for (std::size_t done = 0; done < command.input.size();) {  // fits into the pipe, never blocks
    const ssize_t n = ::write(in.write, command.input.data() + done, command.input.size() - done);
    if (n < 0 && errno != EINTR) {
      throw Error("cannot hand over the input of " + command.argv[0]);
    }
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), in.read, out.write,
           err.write, report.write, parent);
  }
  if (pid_ < 0) {
    throw Error(std::string("cannot start a process: ") + ::strerror(errno));
  }
  ::setpgid(pid_, pid_);
  ::close(out.take(report.write));
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(report.read, &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof error) {
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    throw Error("cannot start " + command.argv[0] + ": " + ::strerror(error));
  }
  out_ = out.take(out.read);
  err_ = err.take(err.read);
  ::fcntl(out_, F_SETFL, O_NONBLOCK);
  ::fcntl(err_, F_SETFL, O_NONBLOCK);
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    reap();
    close_out();
    close_err();
    pid_ = std::exchange(other.pid_, -1);
    out_ = std::exchange(other.out_, -1);
    err_ = std::exchange(other.err_, -1);
  }
  return *this;
}

Child::~Child() {
  reap();
  close_out();
  close_err();
}

void Child::close_out() {
  if (out_ >= 0) {
    ::close(std::exchange(out_, -1));
  }
}

void Child::close_err() {
  if (err_ >= 0) {
    ::close(std::exchange(err_, -1));
  }
}

State Child::poll() const {
  siginfo_t info{};
  if (pid_ < 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &info,
                           WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0) {
    return {State::What::exited, 0};
  }
  if (info.si_pid == 0) {
    return {};
  }
  switch (info.si_code) {
    case CLD_EXITED:
      return {State::What::exited, info.si_status};
    case CLD_KILLED:
    case CLD_DUMPED:
      return {State::What::signaled, info.si_status};
    case CLD_STOPPED:
      return {State::What::stopped, info.si_status};
    default:
      return {};
  }
}

void Child::signal_group(int signal) const {
  if (pid_ > 0) {
    ::kill(-pid_, signal);
  }
}

void Child::reap() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
}

Supervisor::Supervisor() : before_(children()) {
  sigset_t mask, old;
  ::sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    ::sigaddset(&mask, signal);
  }
  fd_ = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) {
    throw Error(std::string("cannot watch signals: ") + ::strerror(errno));
  }
  ::pthread_sigmask(SIG_BLOCK, &mask, &old);
  old_mask_.assign(reinterpret_cast<const char*>(&old), sizeof old);
  ::prctl(PR_GET_CHILD_SUBREAPER, &old_subreaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Supervisor::~Supervisor() {
  sweep();
  ::prctl(PR_SET_CHILD_SUBREAPER, old_subreaper_);
  interrupted();  // signals that we have dealt with must not strike when the mask opens
  ::close(fd_);
  sigset_t old;
  ::memcpy(&old, old_mask_.data(), sizeof old);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

int Supervisor::interrupted() {
  signalfd_siginfo info;
  while (::read(fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD && signal_ == 0) {
      signal_ = static_cast<int>(info.ssi_signo);
    }
  }
  return signal_;
}

int Supervisor::sweep(const std::vector<pid_t>& keep) const {
  int killed = 0;
  for (int round = 0; round < 100; ++round) {  // killing one hands us its children
    bool any = false;
    for (const pid_t pid : children()) {
      const bool ours = std::find(before_.begin(), before_.end(), pid) != before_.end() ||
                        std::find(keep.begin(), keep.end(), pid) != keep.end();
      if (!ours) {
        siginfo_t info{};
        const bool ended =
            ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        killed += ended ? 0 : 1;
        any = true;
      }
    }
    if (!any) {
      break;
    }
  }
  return killed;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace shardlint::verify
