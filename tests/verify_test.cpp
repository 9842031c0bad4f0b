#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "verify/doctor.h"
#include "verify/events.h"
#include "verify/evidence.h"
#include "verify/follow.h"
#include "verify/judge.h"
#include "verify/launch.h"
#include "verify/launcher.h"
#include "verify/plan.h"
#include "verify/process.h"
#include "verify/safety.h"
#include "verify/table.h"
#include "verify/watchdog.h"

using namespace shardlint;
using namespace shardlint::verify;
using Kind = Ending::Kind;

namespace {

// Of this run of the tests alone: others may be running theirs.
std::string token() {
  return "SHARDLINT_TOKEN=" + std::to_string(::getpid());
}

int processes_left() {
  int count = 0;
  const RealDisk disk;
  for (const std::string& entry : disk.list("/proc")) {
    const auto text = to_integer(entry) ? disk.read("/proc/" + entry + "/environ") : std::nullopt;
    count += text && text->find(token()) != std::string::npos ? 1 : 0;
  }
  return count;
}

struct Story {
  Launched launched;
  Report report;
  Judgement judgement;
  double seconds = 0;
};

Story play(const std::string& fault, bool processes, const Planned& planned = {}) {
  Planned copy = planned;
  copy.plan.mode = processes ? "processes" : "threads";
  copy.plan.heartbeat = 0.1;
  Launch what;
  what.executable = std::getenv("SHARDLINT_FAKE_TRAINER");
  what.plan = to_json(copy.plan);
  what.rank_each = processes;
  what.processes = processes ? 2 : 1;
  what.set = {{"SHARDLINT_FAKE", fault}, {"SHARDLINT_TOKEN", std::to_string(::getpid())}};
  what.heartbeat = 0.1;
  what.start_deadline = 2;
  what.phase_deadline = 1;
  what.total_deadline = 20;
  Story out;
  const double start = now();
  out.launched = launch(what);
  out.seconds = now() - start;
  out.report = read_report(out.launched.report);
  out.judgement = judge(out.launched, out.report, copy);
  return out;
}

}  // namespace

TEST_SUITE("verify") {
  TEST_CASE("every fault of a trainer gives its verdict and leaves no process") {
    if (!std::getenv("SHARDLINT_FAKE_TRAINER")) {
      MESSAGE("skipped: SHARDLINT_FAKE_TRAINER does not name the fake trainer");
      return;
    }
    struct Row {
      const char* fault;
      bool processes;
      Kind kind;
      int rank, exit_code;
      double at_most;  // seconds
      const char* says;
    };
    const Row rows[] = {
        {"good", false, Kind::finished, -1, 0, 2, "pass"},
        {"good", true, Kind::finished, -1, 0, 2, "pass"},
        {"not-here", false, Kind::finished, -1, 0, 2, "1 of 7 checks not here"},
        {"nan", false, Kind::finished, -1, 1, 2, "finite: called passed with a loss"},
        {"nan-told", false, Kind::finished, -1, 1, 2, "gradient norm of rank 1"},
        {"no-parity", false, Kind::finished, -1, 1, 2, "parity: the report does not mention it"},
        {"false-pass", false, Kind::finished, -1, 1, 2, "called passed with a row that failed"},
        {"wrong-types", false, Kind::finished, -1, 1, 2, "does not mention it"},
        {"hang", false, Kind::hang, 1, 2, 7, "rank 1, phase train (step 1 reduce_scatter"},
        {"hang:1", true, Kind::hang, 1, 2, 7, "rank 1, phase train"},
        {"silent", false, Kind::hang, -1, 2, 6, "no sign of life"},
        {"silent:1", true, Kind::hang, 1, 2, 6, "rank 1 has given no sign of life"},
        {"deaf", false, Kind::hang, 1, 2, 8, "rank 1"},
        {"hang-told", false, Kind::hang, 1, 2, 4, "rank 1 made no progress"},
        {"kill", false, Kind::died, -1, 2, 3, "the trainer was ended by SIGKILL"},
        {"kill:1", true, Kind::died, 1, 2, 4, "rank 1 was ended by SIGKILL in phase train"},
        {"segv:0", true, Kind::died, 0, 2, 4, "rank 0 was ended by SIGSEGV"},
        {"stop", false, Kind::stopped, -1, 2, 5, "the trainer was stopped by SIGSTOP"},
        {"stop:1", true, Kind::stopped, 1, 2, 5, "rank 1 was stopped by SIGSTOP in phase train"},
        {"exit:1", true, Kind::died, 1, 2, 4, "rank 1 ended with status 3"},
        {"cannot-run", false, Kind::cannot_run, -1, 77, 3, "no GPU here"},
        {"io", false, Kind::refused, 0, 2, 3, "no space left on device"},
        {"garbage", false, Kind::garbage, -1, 2, 3, "ended without a report"},
        {"garbage-for-ever", false, Kind::garbage, -1, 2, 5, "what is this"},
        {"flood", false, Kind::flood, -1, 2, 8, "64 MiB"},
        {"endless-line", false, Kind::flood, -1, 2, 8, "a line without an end"},
        {"lingers", false, Kind::hang, -1, 2, 9, "did not end"},
        {"strays", false, Kind::finished, -1, 0, 3, "pass"},
        {"mute", false, Kind::not_started, -1, 2, 5, "said nothing"},
        {"mute:1", true, Kind::not_started, 1, 2, 5, "rank 1 said nothing"},
    };
    for (const Row& row : rows) {
      const Story story = play(row.fault, row.processes);
      const std::string fault = row.fault;
      CAPTURE(fault);
      CAPTURE(row.processes);
      CAPTURE(story.judgement.headline);
      CHECK(story.launched.ending.kind == row.kind);
      CHECK(story.launched.ending.rank == row.rank);
      CHECK(story.judgement.exit_code == row.exit_code);
      CHECK(story.judgement.headline.find(row.says) != std::string::npos);
      CHECK(story.seconds < row.at_most);
      CHECK(processes_left() == 0);
      CHECK((story.launched.strays > 0) == (std::string_view(row.fault) == "strays"));
      const bool told =
          row.exit_code == 0 || row.exit_code == 77 || !story.judgement.diagnostics.empty();
      CHECK(told);
    }
  }
  TEST_CASE("the rank that waits for another one is not the guilty one") {
    struct Row {
      std::vector<RankPlace> places;
      int guilty, accused;  // by us, and where the trainer itself accuses rank 0
    };
    for (const Row& row :
         {Row{{{0, "train", "all_gather embedding", 9}, {1, "train", "injected hang", 8.9}}, 1, 1},
          {{{0, "train", "reduce_scatter layer 0", 9}, {1, "train", "all_gather head", 8}}, 0, 0},
          {{{0, "train", "all_gather head", 9}, {1, "train", "step 3", 0.1}}, 0, 0},
          {{{0, "train", "optimizer", 9}, {1, "train", "optimizer", 9.5}}, 1, 0}}) {
      Launch what;
      what.phase_deadline = 5;
      Watchdog watchdog(what, 0);
      Event alive;
      alive.kind = "alive";
      alive.ranks = row.places;
      watchdog.event(0, alive, 0.1);
      const auto verdict = watchdog.verdict(0.2, false);
      REQUIRE(verdict);
      CHECK(verdict->rank == row.guilty);
      Event accused;
      accused.kind = "error";
      accused.error = "hang";
      accused.rank = 0;
      accused.phase = "train";
      watchdog.event(0, accused, 0.2);
      watchdog.state(0, {State::What::exited, 2}, 0.3);
      CHECK(watchdog.verdict(1.0, true)->rank == row.accused);
    }
  }
  TEST_CASE("an interruption ends the trainer") {
    if (!std::getenv("SHARDLINT_FAKE_TRAINER")) {
      MESSAGE("skipped: SHARDLINT_FAKE_TRAINER does not name the fake trainer");
      return;
    }
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::usleep(700000);
      ::kill(self, SIGTERM);
      ::_exit(0);
    }
    const Story story = play("hang", false);
    CHECK(story.launched.ending.kind == Kind::interrupted);
    CHECK(story.judgement.exit_code == 128 + SIGTERM);
    CHECK(processes_left() == 0);
  }
  TEST_CASE("what cannot be started is an Error") {
    Launch what;
    what.executable = "/no/such/trainer";
    what.plan = "{}";
    CHECK_THROWS_AS(launch(what), Error);
  }
  TEST_CASE("events are read or refused, never trusted") {
    struct Row {
      const char* line;
      bool event;
    };
    for (const Row& row : {Row{R"({"event":"hello","rank":0})", true},
                           {R"({"event":"dance"})", false},
                           {R"({"event":3})", false},
                           {"[]", false},
                           {"", false},
                           {"{", false},
                           {R"({"event":"alive","ranks":[1,null,{"rank":"x"}]})", true},
                           {R"({"event":"step","loss":1e999})", false},  // no JSON number
                           {R"({"event":"report","report":7})", true}}) {
      CAPTURE(row.line);
      CHECK(parse_event(row.line).has_value() == row.event);
    }
    CHECK_FALSE(parse_event("{\"event\":\"hello\",\"a\":" + std::string(100000, '[')));
    CHECK(parse_event(R"({"event":"report","report":7})")->report.empty());
    CHECK_FALSE(parse_event(R"({"event":"step","loss":null})")->loss);
    Lines lines;
    CHECK(lines.feed("ab").empty());
    CHECK(lines.feed("c\nd\n") == std::vector<std::string>{"abc", "d"});
    CHECK(lines.rest().empty());
  }
  TEST_CASE("a long log keeps its beginning and its end") {
    Log log(100);
    for (int i = 0; i < 1000; ++i) {
      log.add(fmt::format("line {}", i));
    }
    CHECK(log.text().starts_with("line 0\n"));
    CHECK(log.text().ends_with("line 999\n"));
    CHECK(log.text().size() < 500);
    CHECK(log.text().find("bytes left out") != std::string::npos);
  }
  TEST_CASE("no checkpoint is overwritten, no full disk is written to") {
    char name[] = "/tmp/shardlint-test-XXXXXX";
    REQUIRE(::mkdtemp(name));
    const std::string folder = name;
    CHECK(objection_to_directory(folder, 1000) == "");
    CHECK(objection_to_directory(folder + "/new/one", 1000) == "");
    CHECK(objection_to_directory(folder, 1e18).find("room") != std::string::npos);
    write_atomically(folder + "/latest_checkpointed_iteration.txt", "3");
    CHECK(objection_to_directory(folder, 1000).find("holds a checkpoint") != std::string::npos);
    CHECK(objection_to_directory(folder + "/latest_checkpointed_iteration.txt", 1) != "");
    CHECK(may_replace_evidence(folder + "/none.json"));
    CHECK_FALSE(may_replace_evidence(folder + "/latest_checkpointed_iteration.txt"));
    write_atomically(folder + "/e.json", R"({"tool": "shardlint verify"})");
    CHECK(may_replace_evidence(folder + "/e.json"));
    for (const char* file : {"/e.json", "/latest_checkpointed_iteration.txt", ""}) {
      ::remove((folder + file).c_str());
    }
  }
  TEST_CASE("the comparison is drawn, in SVG and in HTML") {
    Report report;
    report.compare = {{"no_shard", 3.0, 1000, 0.1, 5e9, 4e9}, {"optim<&>", 4.0, {}, {}, 2e9, 1e9}};
    const std::string svg = plot(report, "x.svg");
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.find("not measured") != std::string::npos);
    CHECK(svg.find("optim&lt;&amp;&gt;") != std::string::npos);
    CHECK(plot(report, "x.html").starts_with("<!doctype html>"));
  }
  TEST_CASE("a job's log is followed") {
    const auto loss = loss_line(
        " [2026-01-01 00:00:00] iteration       10/      20 | consumed samples: 80 | lm loss: "
        "1.052E+01 | grad norm: 1.2 | number of nan iterations:   0 |");
    CHECK(loss->iteration == 10);
    CHECK(loss->of == 20);
    CHECK(loss->loss == doctest::Approx(10.52));
    CHECK(std::isnan(loss_line(" iteration 2/ 2 | lm loss: NAN | x")->loss));
    CHECK(loss_line("[default0]: iteration 2/ 2 | loss scale: 1.0 | number of nan iterations: 2 |")
              ->nan_iterations == 2);
    CHECK(loss_line("step:3 - actor/pg_loss:0.5 - actor/grad_norm:1.0")->loss == 0.5);
    CHECK_FALSE(loss_line("iteration over the data set took 3 s"));
    CHECK_FALSE(loss_line("step: one - two"));
    const auto tests = test_summary("======= 1 failed, 2 passed, 3 warnings in 39.53s =======");
    CHECK(tests->failed == 1);
    CHECK(tests->passed == 2);
    CHECK(test_summary("2 passed in 0.10s")->passed == 2);
    CHECK_FALSE(test_summary("all passed in time"));
    CHECK(is_format_assertion("AssertionError: use the fsdp_dtensor checkpoint format"));
    CHECK_FALSE(is_format_assertion("saving checkpoint in format fsdp_dtensor"));
    LogReader reader([](std::string_view line) -> std::optional<Diagnostic> {
      if (line.find("known") == std::string_view::npos) {
        return {};
      }
      Diagnostic d;
      d.code = "CKP104";
      return d;
    });
    reader.line("ValueError: known thing");
    reader.line("ValueError: known thing again");
    CHECK(reader.seen().explained.size() == 1);
    CHECK(reader.seen().first_error == "ValueError: known thing");
  }
  TEST_CASE("tables line up") {
    CHECK(render_table({{"a", "1"}, {"long", "22"}}, " ") == " a     1\n long  22\n");
    CHECK(bytes_text(1536) == "1.5 KiB");
    CHECK(nccl_version_text(22809) == "2.28.9");
    CHECK(nccl_version_text(2708) == "2.7.8");
  }
}
