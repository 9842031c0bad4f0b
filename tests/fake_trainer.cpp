// Speaks the trainer's protocol and misbehaves as SHARDLINT_FAKE says: what `shardlint verify` must
// survive. FAKE is MODE[:RANK]; other ranks behave.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include <signal.h>
#include <unistd.h>

using json = nlohmann::ordered_json;

namespace {

int own_rank = -1;  // -1: all ranks are threads of this process
int ranks = 2;

void say(const json& event) {
  const std::string line = event.dump() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void phase(int rank, const char* name, const char* detail = "") {
  say({{"event", "phase"}, {"t", 0.1}, {"rank", rank}, {"phase", name}, {"detail", detail}});
}

void alive(const char* phase, const char* detail, int behind, double idle) {
  json all = json::array();
  for (int r = 0; r < ranks; ++r) {
    if (own_rank < 0 || own_rank == r) {
      all.push_back({{"rank", r},
                     {"phase", phase},
                     {"detail", detail},
                     {"idle_s", r == behind ? idle : idle / 2}});
    }
  }
  say({{"event", "alive"}, {"t", 1.0}, {"rank", own_rank}, {"ranks", all}});
}

[[noreturn]] void sleep_for_ever() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

// Alive events go on while the ranks do not.
[[noreturn]] void hang(bool tells) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const double idle =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (tells) {
      alive("train", "step 1 reduce_scatter layer 0", 1, idle);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

json check(const char* name, const char* verdict, const char* reason) {
  return {{"name", name},   {"verdict", verdict},    {"reason", reason},
          {"seconds", 0.1}, {"rows", json::array()}, {"findings", json::array()}};
}

json good_report(const json& plan) {
  json checks = json::array();
  for (const json& name : plan["checks"]) {
    checks.push_back(check(name.get<std::string>().c_str(), "pass", "fine"));
  }
  return {{"version", 1},
          {"backend", "cpu"},
          {"outcome", "pass"},
          {"message", ""},
          {"environment", {{"ranks", ranks}, {"host", "here"}}},
          {"checks", checks},
          {"runs", json::array({{{"name", "optim"},
                                 {"strategy", "optim"},
                                 {"loss", {5.5, 5.4}},
                                 {"grad_norm", {1.0, 0.9}}}})},
          {"compare", json::array()}};
}

void report(const json& content) {
  say({{"event", "report"}, {"report", content}});
}

int misbehave(const std::string& mode, const json& plan) {
  json content = good_report(plan);
  if (mode == "nan") {  // and claims that all is well
    content["runs"][0]["loss"] = {5.5, nullptr};
    report(content);
    return 0;
  }
  if (mode == "nan-told") {
    content["outcome"] = "fail";
    for (json& c : content["checks"]) {
      if (c["name"] == "finite") {
        c = check("finite", "fail", "step 1: gradient norm of rank 1 is not finite");
      }
    }
    report(content);
    return 1;
  }
  if (mode == "no-parity") {
    json kept = json::array();
    for (const json& c : content["checks"]) {
      if (c["name"] != "parity") {
        kept.push_back(c);
      }
    }
    content["checks"] = kept;
    report(content);
    return 0;
  }
  if (mode == "false-pass") {
    content["checks"][0]["rows"] =
        json::array({{{"what", "row"}, {"value", 2}, {"expected", 1}, {"ok", false}}});
    report(content);
    return 0;
  }
  if (mode == "wrong-types") {
    content["checks"] = {1, "two", {{"name", 3}, {"verdict", {}}}};
    content["runs"] = "none";
    content["environment"] = 4;
    report(content);
    return 0;
  }
  if (mode == "not-here") {
    content["checks"][0] = check(content["checks"][0]["name"].get<std::string>().c_str(),
                                 "not_here", "no such thing here");
    report(content);
    return 0;
  }
  if (mode == "hang") {
    hang(true);
  }
  if (mode == "silent") {
    sleep_for_ever();
  }
  if (mode == "deaf") {  // ignores SIGTERM as well
    ::signal(SIGTERM, SIG_IGN);
    hang(true);
  }
  if (mode == "hang-told") {
    say({{"event", "error"},
         {"t", 3.0},
         {"rank", 1},
         {"phase", "train"},
         {"kind", "hang"},
         {"message", "rank 1 made no progress in 3.0 s"}});
    return 2;
  }
  if (mode == "kill") {
    ::kill(::getpid(), SIGKILL);
  }
  if (mode == "segv") {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (mode == "stop") {
    ::kill(::getpid(), SIGSTOP);
    sleep_for_ever();
  }
  if (mode == "exit") {
    return 3;
  }
  if (mode == "cannot-run") {
    say({{"event", "error"},
         {"t", 0.1},
         {"rank", -1},
         {"phase", "start"},
         {"kind", "cannot_run"},
         {"message", "no GPU here"}});
    return 77;
  }
  if (mode == "io") {
    say({{"event", "error"},
         {"t", 0.1},
         {"rank", 0},
         {"phase", "checkpoint_save"},
         {"kind", "io"},
         {"message", "cannot write __0_0.distcp: no space left on device"}});
    return 2;
  }
  if (mode == "garbage") {
    std::puts("Segmentation fault (not really)\n\xff\xfe{]");
    std::puts("{\"event\":\"report\",\"report\":[1,2]}");
    std::puts(std::string(100000, '[').c_str());
    return 0;
  }
  if (mode == "garbage-for-ever") {
    for (;;) {
      std::puts("what is this");
    }
  }
  if (mode == "flood") {
    const std::string line(1 << 16, 'x');
    for (;;) {
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
  }
  if (mode == "endless-line") {
    const std::string line(1 << 16, 'x');
    for (;;) {
      std::fwrite(line.data(), 1, line.size(), stdout);
    }
  }
  if (mode == "lingers") {  // reports, then does not end
    report(content);
    hang(true);
  }
  if (mode == "strays") {  // leaves a process of another session behind
    if (::fork() == 0) {
      ::setsid();
      if (::fork() == 0) {
        ::close(1);
        ::close(2);
        sleep_for_ever();
      }
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    report(content);
    return 0;
  }
  report(content);
  return 0;
}

}  // namespace

int main() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)),
                         std::istreambuf_iterator<char>());
  const json plan = json::parse(text, nullptr, false);
  if (!plan.is_object() || plan.value("version", 0) != 1) {
    return 2;
  }
  ranks = plan["ranks"].get<int>();
  const char* rank = std::getenv("RANK");
  if (plan["mode"] == "processes") {
    own_rank = rank ? std::atoi(rank) : 0;
  }
  const char* set = std::getenv("SHARDLINT_FAKE");
  std::string mode = set ? set : "";
  if (const auto colon = mode.find(':'); colon != std::string::npos) {
    const int guilty = std::atoi(mode.c_str() + colon + 1);
    mode = own_rank < 0 || guilty == own_rank ? mode.substr(0, colon) : "wait";
  }
  if (mode == "mute") {  // never says hello
    sleep_for_ever();
  }
  say({{"event", "hello"},
       {"pid", ::getpid()},
       {"rank", own_rank},
       {"ranks", ranks},
       {"backend", "cpu"},
       {"version", "0"}});
  std::fputs("some words for the log\n", stderr);
  phase(own_rank, "join");
  phase(own_rank, "train", "step 1");
  alive("train", "step 1", -1, 0);
  if (mode == "wait") {  // in a collective that never completes
    hang(true);
  }
  return misbehave(mode, plan);
}
