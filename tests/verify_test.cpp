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

// A configuration made of keys and values, each on a line of its own.
struct Written {
  Source source;
  Config config;
  Written(const std::string& framework, const std::vector<std::pair<std::string, Value>>& values)
      : source("train.yaml", text_of(values)) {
    Facts facts;
    facts.framework = framework;
    facts.closed = true;
    std::uint32_t at = 0;
    for (const auto& [key, value] : values) {
      const auto end = at + static_cast<std::uint32_t>(key.size());
      facts.facts.push_back({key, value, {&source, at, end}, {&source, at, end}, Origin::set, ""});
      at = end + 1;
    }
    config = merge({facts});
  }
  static std::string text_of(const std::vector<std::pair<std::string, Value>>& values) {
    std::string text;
    for (const auto& [key, value] : values) {
      text += key + "\n";
    }
    return text;
  }
};

const Setting* find(const Planned& planned, std::string_view key) {
  for (const Setting& setting : planned.settings) {
    if (setting.key == key) {
      return &setting;
    }
  }
  return nullptr;
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
  TEST_CASE("the plan follows the configuration") {
    struct Row {
      const char* framework;
      std::vector<std::pair<std::string, Value>> values;
      const char* strategy;
      bool limited;
    };
    const Row rows[] = {
        {"megatron-lm", {{"use_megatron_fsdp", true}}, "optim_grads_params", false},
        {"megatron-bridge", {{"dist.use_megatron_fsdp", true}}, "no_shard", false},
        {"megatron-bridge",
         {{"ddp.use_megatron_fsdp", true}, {"ddp.data_parallel_sharding_strategy", "optim_grads"}},
         "optim_grads",
         false},
        {"megatron-lm", {{"use_distributed_optimizer", true}}, "optim", false},
        {"megatron-lm", {{"bf16", true}}, "no_shard", false},
        {"megatron-lm", {{"use_torch_fsdp2", true}}, "optim_grads_params", false},
        {"megatron-lm",
         {{"use_torch_fsdp2", true}, {"torch_fsdp2_reshard_after_forward", false}},
         "optim_grads",
         false},
        {"verl",
         {{"actor_rollout_ref.actor.megatron.use_megatron_fsdp", true},
          {"actor_rollout_ref.ref.megatron.tensor_model_parallel_size", 4}},
         "optim_grads_params",
         false},
        {"verl",
         {{"actor_rollout_ref.actor.megatron.use_megatron_fsdp", true},
          {"actor_rollout_ref.actor.megatron.tensor_model_parallel_size", 4}},
         "optim_grads_params",
         true},
        {"megatron-lm",
         {{"use_megatron_fsdp", true},
          {"data_parallel_sharding_strategy", unknown(Reason::environment, "$S")}},
         "optim_grads_params",
         true},
        {"megatron-lm",
         {{"use_megatron_fsdp", true}, {"fp8", "hybrid"}},
         "optim_grads_params",
         true},
        {"megatron-lm", {{"fp8", false}, {"tensor_model_parallel_size", 1}}, "no_shard", false},
        {"megatron-lm",
         {{"pipeline_model_parallel_size", unknown(Reason::argument, "$1")}},
         "no_shard",
         true},
        {"megatron-lm", {{"optimizer", "muon"}}, "no_shard", true},
        {"megatron-lm",
         {{"use_megatron_fsdp", true}, {"data_parallel_sharding_strategy", "all"}},
         "optim_grads_params",
         true},
    };
    for (const Row& row : rows) {
      const Written written(row.framework, row.values);
      const Planned planned = make_plan(&written.config, Wishes{});
      CAPTURE(row.framework);
      CAPTURE(row.values.back().first);
      CHECK(planned.plan.strategy == row.strategy);
      CHECK(planned.data_parallel_only == row.limited);
      CHECK(planned.settings.size() == row.values.size());  // every one is listed
      for (const Setting& setting : planned.settings) {
        CHECK(setting.where.file == "train.yaml");
      }
    }
  }
  TEST_CASE("sizes are scaled to what is here, and it is said") {
    const Written written("megatron-lm", {{"world_size", 64},
                                          {"micro_batch_size", 2},
                                          {"global_batch_size", 1024},
                                          {"num_experts", 64},
                                          {"expert_model_parallel_size", 8},
                                          {"num_distributed_optimizer_instances", 8},
                                          {"use_megatron_fsdp", true},
                                          {"env.CUDA_DEVICE_MAX_CONNECTIONS", "8"},
                                          {"env.NCCL_ALGO", "Ring"},
                                          {"env.HOME", "/x"},
                                          {"adam_beta2", 0.99},
                                          {"hidden_size", 8192}});
    Wishes wishes;
    wishes.ranks = 2;
    Planned planned = make_plan(&written.config, wishes);
    CHECK(planned.plan.micro_batches == 2);
    CHECK(planned.plan.expert_parallel == 2);
    CHECK(planned.plan.experts == 4);
    CHECK(planned.plan.outer_size == 1);
    CHECK(planned.data_parallel_only);  // the outer group needs four ranks
    CHECK(planned.plan.max_connections == 8);
    CHECK(planned.plan.beta2 == 0.99);
    CHECK(find(planned, "hidden_size")->use == Use::scaled);
    CHECK(find(planned, "hidden_size")->where.begin.line == 12);
    CHECK(find(planned, "env.HOME")->use == Use::not_exercised);
    CHECK(planned.environment.size() == 2);
    wishes.ranks = 8;
    planned = make_plan(&written.config, wishes);
    CHECK(planned.plan.outer_size == 4);
    CHECK(planned.plan.expert_parallel == 8);
    CHECK(planned.plan.experts == 8);
    CHECK_FALSE(planned.data_parallel_only);
    CHECK(planned.digest.starts_with("fnv1a64:"));
    const nlohmann::json plan = nlohmann::json::parse(to_json(planned.plan));
    CHECK(plan["parallel"]["outer_size"] == 4);
    CHECK(plan["model"]["experts"] == 8);
  }
  TEST_CASE("a finding stands at the configuration's line") {
    const Written written("megatron-lm", {{"bf16", true},
                                          {"use_megatron_fsdp", true},
                                          {"data_parallel_sharding_strategy", "optim"}});
    const Planned planned = make_plan(&written.config, Wishes{});
    CHECK(place_of("parity", planned).begin.line == 3);
    CHECK(place_of("finite", planned).begin.line == 1);
  }
  TEST_CASE("faults on the command line") {
    CHECK(parse_fault("kill:1:2").rank == 1);
    CHECK(parse_fault("scale_gradient:0:1:2.5").factor == 2.5);
    CHECK(parse_fault("little_memory:0:0:1e9").bytes == 1000000000);
    for (const char* bad : {"", "burn", "kill:x", "kill:1:2:3:4", "kill:-1"}) {
      CAPTURE(bad);
      CHECK_THROWS_AS(parse_fault(bad), Error);
    }
  }
  TEST_CASE("launchers") {
    using Variables = std::map<std::string, std::string>;
    const auto of = [](const Variables& variables) {
      return rank_of_job([&](const char* name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      });
    };
    CHECK_FALSE(of({}));
    CHECK_FALSE(of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
    const auto torchrun = of({{"RANK", "3"},
                              {"WORLD_SIZE", "4"},
                              {"LOCAL_RANK", "1"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    CHECK(torchrun->rank == 3);
    CHECK(torchrun->set[0].second == "29501");  // the agent listens at the other
    // A batch script is no task of srun's.
    CHECK_FALSE(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
    const auto srun = of({{"SLURM_PROCID", "1"},
                          {"SLURM_NTASKS", "4"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NODELIST", "gpu[003-006,9]"}});
    CHECK(srun->launcher == "srun");
    CHECK(srun->set[0].second == "gpu003");
    const auto mpi = of({{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
    CHECK(mpi->set[0].second == "127.0.0.1");
    CHECK_THROWS_AS(of({{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
                    Error);
    CHECK_THROWS_AS(of({{"RANK", "5"}, {"WORLD_SIZE", "2"}}), Error);
    CHECK(first_host("a,b") == "a");
    CHECK(first_host("a-[01,03]x,b") == "a-01x");
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
  TEST_CASE("doctor: the machine against the configuration") {
    Machine machine;
    machine.python.program = "/usr/bin/python3";
    machine.shared_memory = 64 << 20;
    machine.open_files = 1024;
    machine.locked_memory = 65536;
    const auto verdict_of = [](const std::vector<Finding>& findings, std::string_view what) {
      for (const Finding& finding : findings) {
        if (finding.what == what) {
          return static_cast<int>(finding.verdict);
        }
      }
      return -1;
    };
    const int ok = static_cast<int>(Finding::Verdict::ok);
    const int info = static_cast<int>(Finding::Verdict::info);
    const int warning = static_cast<int>(Finding::Verdict::warning);
    const int missing = static_cast<int>(Finding::Verdict::missing);
    CHECK(verdict_of(examine(machine, nullptr, false), "GPUs") == info);
    const Written written("megatron-lm",
                          {{"nproc_per_node", 8}, {"fp4", "nvfp4"}, {"use_megatron_fsdp", true}});
    CHECK(verdict_of(examine(machine, &written.config, false), "GPUs") == missing);
    machine.gpus.all.assign(8, Gpu{});
    for (Gpu& gpu : machine.gpus.all) {
      gpu.name = "NVIDIA H200";
      gpu.major = 9;
      gpu.total = gpu.free = std::uint64_t{140} << 30;
    }
    machine.gpus.visible = {0, 1, 2, 3, 4, 5, 6, 7};
    machine.gpus.library = "libnvidia-ml.so.1";
    machine.gpus.all[3].uncorrected_errors = 2;
    machine.nccl = {"/usr/lib/libnccl.so.2", 22809};
    machine.packages["torch"] = {"2.11.0", ""};
    machine.packages["transformer-engine"] = {"2.6.0", ""};
    machine.programs["torchrun"] = "/usr/bin/torchrun";
    machine.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
    const auto findings = examine(machine, &written.config, true);
    struct Row {
      const char* what;
      int verdict;
    };
    for (const Row& row : {Row{"GPUs", ok},
                           {"compute capability", missing},  // FP4 needs 10.0
                           {"GPU 3 memory", missing},
                           {"NCCL", ok},
                           {"torch", ok},
                           {"transformer-engine", missing},  // 2.7 for FP4
                           {"launcher", ok},
                           {"uv", missing},
                           {"CUDA_DEVICE_MAX_CONNECTIONS", missing},
                           {"/dev/shm", warning},
                           {"open files", warning}}) {
      CAPTURE(row.what);
      CHECK(verdict_of(findings, row.what) == row.verdict);
    }
  }
  TEST_CASE("installed packages are read from their folders' names") {
    char name[] = "/tmp/shardlint-test-XXXXXX";
    REQUIRE(::mkdtemp(name));
    const std::string folder = name;
    const std::string made[] = {folder + "/Transformer_Engine-2.7.0.dist-info",
                                folder + "/torch-2.11.0+cu130.dist-info",
                                folder + "/old-1.0-py3.9.egg-info"};
    for (const std::string& path : made) {
      REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    }
    const auto packages = installed({folder});
    CHECK(packages.at("transformer-engine").version == "2.7.0");
    CHECK(packages.at("torch").version == "2.11.0+cu130");
    CHECK(packages.at("old").version == "1.0");
    for (const std::string& path : made) {
      ::rmdir(path.c_str());
    }
    ::rmdir(name);
  }
  TEST_CASE("tables line up") {
    CHECK(render_table({{"a", "1"}, {"long", "22"}}, " ") == " a     1\n long  22\n");
    CHECK(bytes_text(1536) == "1.5 KiB");
    CHECK(nccl_version_text(22809) == "2.28.9");
    CHECK(nccl_version_text(2708) == "2.7.8");
  }
}
