// shardlint-verify-{cpu,gpu}: reads a plan, runs a rank a thread (or is one rank), prints events.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "ranks/comm.h"
#include "ranks/progress.h"
#include "ranks/scratch_folders.h"
#include "ranks/self_test.h"
#include "ranks/session.h"

namespace shardlint::ranks {

namespace {

constexpr int passed = 0, failed = 1, could_not = 2, cannot_run = 77;

struct Arguments {
  std::string plan, report;
  bool probe = false, self_test = false, self_test_kernels = false, version = false;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 >= argc) {
        throw Error(word + " needs a value");
      }
      return std::string(argv[++i]);
    };
    if (word == "--plan") {
      result.plan = value();
    } else if (word == "--report") {
      result.report = value();
    } else if (word == "--probe") {
      result.probe = true;
    } else if (word == "--self-test") {
      result.self_test = true;
    } else if (word == "--self-test-kernels") {
      result.self_test_kernels = true;
    } else if (word == "--version") {
      result.version = true;
    } else {
      throw Error(
          "unknown argument " + word +
          "; usage: --plan FILE|- [--report FILE] | --probe | --self-test[-kernels] | --version");
    }
  }
  return result;
}

std::string read_plan(const std::string& path) {
  if (path == "-") {
    return {std::istreambuf_iterator<char>(std::cin), {}};
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw Error("open the plan " + path);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

// Everything that must happen once, whoever comes first to end the process.
class Ending {
 public:
  Ending(const Plan& plan, Reporter& reporter, std::string report_path, bool reports)
      : plan_(plan), reporter_(reporter), path_(std::move(report_path)), reports_(reports) {}

  void error(int rank, const std::string& phase, const std::string& kind,
             const std::string& message) {
    emit("error", "\"rank\":" + std::to_string(rank) + ",\"phase\":" + quoted(phase) +
                      ",\"kind\":" + quoted(kind) + ",\"message\":" + quoted(message));
    std::fprintf(stderr, "rank %d, %s: %s: %s\n", rank, phase.c_str(), kind.c_str(),
                 message.c_str());
  }

  void report(const std::string& outcome, const std::string& message) {
    if (!reports_ || done_.exchange(true)) {
      return;
    }
    std::string text;
    reporter_.with([&](Report& report) {
      if (!outcome.empty()) {
        report.outcome = outcome;
        report.message = message;
      }
      text = to_json_text(report, plan_);
    });
    emit("report", "\"report\":" + text);
    if (!path_.empty()) {
      try {
        write_atomically(path_, text + "\n");
      } catch (const Error& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
      }
    }
  }

 private:
  const Plan& plan_;
  Reporter& reporter_;
  std::string path_;
  bool reports_;
  std::atomic<bool> done_ = false;
};

[[noreturn]] void leave_now(int code) {
  remove_owned_folders();
  abort_all_comms();
  ::_exit(code);
}

// SIGTERM and SIGINT are taken by a thread of their own, which may do what a handler may not.
void watch_signals(Ending& ending) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set, &ending] {
    int number = 0;
    sigwait(&set, &number);
    ending.error(-1, "", "aborted", number == SIGTERM ? "SIGTERM" : "SIGINT");
    ending.report("error", "ended by a signal");
    // Aborting may itself wait for a device that hangs: leave within a second all the same.
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(800));
      ::_exit(could_not);
    }).detach();
    leave_now(could_not);
  }).detach();
}

// Takes the words off that say so, and tells whether they were there.
bool says_cannot_run(std::string& message) {
  constexpr std::string_view words = "cannot run here: ";
  const bool there = message.starts_with(words);
  message.erase(0, there ? words.size() : 0);
  return there;
}

int run_plan(const Plan& plan, const std::string& report_path) {
  Place place;
  if (plan.processes) {
    place = place_from_environment();
  }
  const int size = plan.processes ? place.size : plan.ranks;
  const int first = plan.processes ? place.rank : 0;
  const int local = plan.processes ? 1 : size;
  if (plan.parallel.max_connections > 0) {
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(plan.parallel.max_connections).c_str(),
             1);
  }
  emit("hello", "\"pid\":" + std::to_string(::getpid()) +
                    ",\"rank\":" + std::to_string(plan.processes ? first : -1) + ",\"ranks\":" +
                    std::to_string(size) + ",\"backend\":" + quoted(backend_name()) +
                    ",\"version\":" + quoted(SHARDLINT_VERSION));
  Reporter reporter;
  Ending ending(plan, reporter, report_path, first == 0);
  watch_signals(ending);

  RuntimeFacts runtime;
  std::string why;
  const int devices = device_count(why);
  if (devices == 0) {
    why = "no GPU: " + why;
  } else {
    why = load_libraries(runtime);
    const int needed = plan.processes ? place.local_rank + 1 : size;
    if (why.empty() && plan.devices.empty() && needed > devices) {
      why = std::to_string(needed) + " ranks on this host, but " + std::to_string(devices) +
            " devices";
    }
    if (!plan.devices.empty() && static_cast<int>(plan.devices.size()) < local) {
      throw Error("plan: devices: fewer than ranks");
    }
  }
  if (!why.empty()) {
    ending.error(-1, "start", "cannot_run", why);
    ending.report("cannot_run", why);
    return cannot_run;
  }

  std::unique_ptr<Store> store;
  if (!plan.processes) {
    store = make_memory_store();
  } else if (plan.store.starts_with("file:")) {
    store = make_file_store(plan.store.substr(5), first);
  } else {
    const char* host = std::getenv("MASTER_ADDR");
    const char* port = std::getenv("MASTER_PORT");
    store = make_tcp_store(host == nullptr ? "127.0.0.1" : host,
                           port == nullptr ? 29500 : std::atoi(port), first, plan.deadlines.start);
  }
  store->deadline = plan.deadlines.start;
  start_watchdog(plan.deadlines.heartbeat,
                 {plan.deadlines.start, plan.deadlines.phase, plan.deadlines.total},
                 [&](const Hang& hang) {
                   char text[200];
                   std::snprintf(text, sizeof text, "no progress for %.1f s in %s (%s)", hang.idle,
                                 hang.phase.c_str(), hang.detail.c_str());
                   ending.error(hang.rank, hang.phase, "hang", text);
                   ending.report("hang", "rank " + std::to_string(hang.rank) + ": " + text);
                   std::thread([] {
                     std::this_thread::sleep_for(std::chrono::seconds(2));
                     ::_exit(could_not);
                   }).detach();
                   leave_now(could_not);
                 });

  std::atomic<int> code = passed;
  std::atomic<bool> trouble = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < local; ++i) {
    const int rank = first + i;
    const int device = plan.processes         ? place.local_rank
                       : plan.devices.empty() ? i
                                              : plan.devices[static_cast<std::size_t>(i)];
    threads.emplace_back([&, rank, device] {
      std::string kind, message;
      try {
        run_rank(plan, *store, rank, size, device, reporter);
        return;
      } catch (const Error& error) {
        kind = "call";
        message = error.what();
      } catch (const std::exception& error) {
        kind = "internal";
        message = error.what();
      }
      if (trouble.exchange(true)) {
        return;  // a consequence of the first
      }
      const bool here = says_cannot_run(message);
      code = here ? cannot_run : could_not;
      ending.error(rank, current_phase(rank), here ? "cannot_run" : kind, message);
      ending.report(here ? "cannot_run" : "error",
                    (here ? "" : "rank " + std::to_string(rank) + ": ") + message);
      abort_all_comms();
      if (local > 1) {  // the others may stand in a store or a device that nobody will wake
        std::this_thread::sleep_for(std::chrono::seconds(1));
      }
      leave_now(code);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  stop_watchdog();
  reporter.with([&](Report& report) { code = report.outcome == "pass" ? passed : failed; });
  // Ranks that report nothing themselves follow rank 0's verdict as far as they know it.
  ending.report("", "");
  remove_owned_folders();
  return code;
}

int run(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (arguments.version) {
    std::printf("shardlint-verify-%s %s\n", backend_name().c_str(), SHARDLINT_VERSION);
    return passed;
  }
  if (arguments.probe) {
    emit("probe", "\"environment\":" + probe_json());
    return passed;
  }
  if (arguments.self_test_kernels) {
    return self_test(false);
  }
  if (arguments.self_test) {
    const int code = self_test(true);
    return code == 0 ? run_plan(self_test_plan(), arguments.report) : code;
  }
  if (arguments.plan.empty()) {
    throw Error("--plan FILE is needed (- reads stdin)");
  }
  return run_plan(parse_plan(read_plan(arguments.plan)), arguments.report);
}

}  // namespace

}  // namespace shardlint::ranks

int main(int argc, char** argv) {
  using namespace shardlint;
  try {
    return ranks::run(argc, argv);
  } catch (const Error& error) {
    const std::string text = error.what();
    ranks::emit("error", "\"rank\":-1,\"phase\":\"start\",\"kind\":\"" +
                             std::string(text.starts_with("plan:") ? "plan" : "call") +
                             "\",\"message\":" + ranks::quoted(text));
    std::fprintf(stderr, "shardlint-verify: %s\n", text.c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardlint-verify: internal error: %s\n", error.what());
    return 2;
  }
}
