#include "verify/verify.h"

#include <algorithm>

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "verify/evidence.h"
#include "verify/gpus.h"
#include "verify/judge.h"
#include "verify/launch.h"
#include "verify/launcher.h"
#include "verify/plan.h"
#include "verify/process.h"
#include "verify/run_command.h"
#include "verify/safety.h"
#include "verify/table.h"

namespace shardlint {
using namespace verify;
namespace {

struct Backend {
  std::string name, executable;
  bool fallback = false;   // the CPU stands in for GPUs that are not there
  std::string cannot_run;  // why nothing can be run here
};

Backend choose_backend(const VerifyFlags& flags, const Gpus& gpus) {
  Backend out;
  const std::string gpu = find_trainer("gpu");
  const bool can = !gpu.empty() && !gpus.visible.empty();
  out.name = flags.backend != "auto" ? flags.backend : can ? "gpu" : "cpu";
  out.fallback = flags.backend == "auto" && !can;
  out.executable = !flags.trainer.empty() ? flags.trainer
                   : out.name == "gpu"    ? gpu
                                          : find_trainer("cpu");
  if (out.name == "gpu" && gpus.visible.empty() && flags.trainer.empty()) {
    out.cannot_run = gpus.library.empty()    ? "no NVIDIA driver here"
                     : !gpus.problem.empty() ? gpus.problem
                     : gpus.all.empty()      ? "the driver sees no GPU"
                                             : "CUDA_VISIBLE_DEVICES hides every GPU";
    out.cannot_run += "; --backend cpu runs the numerical reference";
  } else if (out.executable.empty()) {
    out.cannot_run = "shardlint-verify-" + out.name +
                     " is neither beside this program nor in its libexec folder";
  }
  return out;
}

int choose_ranks(const VerifyFlags& flags, const Backend& backend, const Gpus& gpus,
                 const std::optional<RankOfJob>& job) {
  if (job) {
    return job->ranks;
  }
  if (flags.gpus > 0) {
    return flags.gpus;
  }
  if (backend.name == "gpu" && !gpus.visible.empty()) {
    return static_cast<int>(std::min<std::size_t>(gpus.visible.size(), 64));
  }
  return 2;
}

std::string too_small(const Plan& plan, const Estimate& estimate, const Gpus& gpus,
                      const std::optional<RankOfJob>& job) {
  if (!job && gpus.visible.size() < static_cast<std::size_t>(plan.ranks) && !gpus.all.empty()) {
    return fmt::format("{} GPUs wanted, {} here", plan.ranks, gpus.visible.size());
  }
  for (std::size_t i = 0;
       !job && i < gpus.visible.size() && i < static_cast<std::size_t>(plan.ranks); ++i) {
    const int ordinal = gpus.visible[i];
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= gpus.all.size()) {
      continue;
    }
    const Gpu& gpu = gpus.all[static_cast<std::size_t>(ordinal)];
    if (gpu.total > 0 && static_cast<double>(gpu.free) < estimate.memory_per_rank) {
      return fmt::format("GPU {} has {} free, about {} are needed", ordinal,
                         bytes_text(static_cast<double>(gpu.free)),
                         bytes_text(estimate.memory_per_rank));
    }
    if (gpu.uncorrected_errors > 0) {
      return fmt::format(
          "GPU {} has {} uncorrected ECC errors since the driver was loaded: reset "
          "or replace it first",
          ordinal, gpu.uncorrected_errors);
    }
  }
  return {};
}

Planned plan_for(const VerifyFlags& flags, const Config* config, const Backend& backend,
                 const Gpus& gpus, const std::optional<RankOfJob>& job) {
  Wishes wishes;
  wishes.preset = flags.preset;
  wishes.steps = flags.steps;
  wishes.ranks = choose_ranks(flags, backend, gpus, job);
  wishes.processes = flags.processes || job.has_value();
  wishes.compare = flags.compare;
  wishes.strategy = flags.strategy;
  wishes.scope = flags.scope;
  wishes.save = flags.save;
  wishes.seed = flags.seed;
  Planned planned = make_plan(config, wishes);
  if (backend.name == "cpu" && flags.gpus == 0 && !job && planned.ranks_wanted > wishes.ranks) {
    wishes.ranks = planned.ranks_wanted;  // threads cost nothing
    planned = make_plan(config, wishes);
  }
  Plan& plan = planned.plan;
  if (!flags.checks.empty()) {
    plan.checks = flags.checks;
  }
  if (!flags.collective_sizes.empty()) {
    plan.collective_sizes = flags.collective_sizes;
  }
  for (const std::string& fault : flags.faults) {
    plan.faults.push_back(parse_fault(fault));
  }
  plan.total_deadline = flags.deadline > 0 ? flags.deadline : plan.total_deadline;
  plan.phase_deadline = flags.phase_deadline;
  plan.start_deadline = std::min(plan.start_deadline, plan.total_deadline);
  return planned;
}

// A folder for the ranks' store that is there as long as this object.
struct StoreFolder {
  std::string path;
  StoreFolder() : path("/tmp/shardlint-ranks-XXXXXX") {
    if (!::mkdtemp(path.data())) {
      throw Error("cannot make a folder in /tmp");
    }
  }
  ~StoreFolder() {
    ::rmdir((path + "/store").c_str());
    ::rmdir(path.c_str());
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
};

void show(const Event& event, bool terminal) {
  std::string line;
  if (event.kind == "check") {
    line = fmt::format("{:<12} {}  {}", event.name,
                       event.verdict == "not_here" ? "not here" : event.verdict, event.reason);
  } else if (terminal && event.kind == "step") {
    fmt::print(stderr, "\r\x1b[K{} step {}", event.run, event.step);
    std::fflush(stderr);
    return;
  } else if (terminal && event.kind == "phase" && event.rank <= 0) {
    fmt::print(stderr, "\r\x1b[K{} {}", event.phase, event.detail);
    std::fflush(stderr);
    return;
  } else {
    return;
  }
  fmt::print(stderr, "{}{}\n", terminal ? "\r\x1b[K" : "", line);
}

Launched run_trainer(const VerifyFlags& flags, Planned& planned, const Backend& backend,
                     const std::optional<RankOfJob>& job) {
  std::optional<StoreFolder> folder;
  Launch what;
  what.executable = backend.executable;
  what.set = planned.environment;
  what.unset = planned.unset;
  if (job) {
    what.rank_each = true;
    what.first_rank = job->rank;
    what.expects_report = job->rank == 0;
    what.set.insert(what.set.end(), job->set.begin(), job->set.end());
    if (backend.name == "cpu") {  // ranks of one host have one parent: the launcher's agent
      planned.plan.store = fmt::format("file:/tmp/shardlint-ranks-{}", ::getppid());
    }
  } else if (planned.plan.mode == "processes") {
    folder.emplace();
    planned.plan.store = "file:" + folder->path + "/store";
    what.rank_each = true;
    what.processes = planned.plan.ranks;
  }
  const Plan& plan = planned.plan;
  what.plan = to_json(plan);
  what.start_deadline = plan.start_deadline;
  what.phase_deadline = plan.phase_deadline;
  what.total_deadline = plan.total_deadline;
  what.heartbeat = plan.heartbeat;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (terminal || flags.verbose) {
    what.follow = [terminal](const Event& event) { show(event, terminal); };
  }
  Launched launched = launch(what);
  if (terminal) {
    fmt::print(stderr, "\r\x1b[K");
  }
  return launched;
}

std::string plot_path(const VerifyFlags& flags) {
  if (!flags.compare || flags.no_evidence) {
    return flags.compare ? flags.plot : "";
  }
  return flags.plot.empty() ? "shardlint-compare.svg" : flags.plot;
}

void tell(const VerifyFlags& flags, const VerifyHooks& hooks, const Launched& launched,
          const Report& report, const Judgement& judgement, const Planned& planned,
          const Backend& backend) {
  const std::string json = evidence(launched, judgement, planned, backend.name, backend.executable);
  if (!flags.no_evidence) {
    write_atomically(flags.evidence, json);
  }
  if (const std::string path = plot_path(flags); !path.empty() && !report.compare.empty()) {
    write_atomically(path, plot(report, path));
  }
  if (flags.format == "json") {
    fmt::print("{}", json);
  } else if (flags.format == "text") {
    fmt::print("{}", render(judgement, report, planned, flags.verbose));
    if (judgement.exit_code != 0 && !launched.log.empty() && !report.valid) {
      const std::string& log = launched.log;
      const auto from = log.size() > 2000 ? log.find('\n', log.size() - 2000) + 1 : 0;
      fmt::print("last lines of the trainer's log\n{}", log.substr(from));
    }
  } else if (hooks.render) {
    fmt::print("{}", hooks.render(judgement.diagnostics, flags.format));
    fmt::print(stderr, "verdict: {}\n", judgement.headline);
  } else {
    throw Error("output format " + flags.format + ": expected text or json");
  }
}

int cannot_run(const std::string& why) {
  fmt::print(stderr, "shardlint: cannot run here: {}\n", why);
  return 77;
}

}  // namespace

int verify_configuration(const VerifyFlags& flags, const VerifyHooks& hooks) {
  Sources sources;
  LintedConfig linted;
  const Chosen chosen = choose_configuration(flags, hooks, linted, sources);
  if (chosen.refused) {
    return *chosen.refused;
  }
  if (!flags.command.empty()) {
    return run_command(flags, hooks, chosen.config);
  }
  const std::optional<RankOfJob> job = rank_of_job();
  const Gpus gpus = flags.backend == "cpu" ? Gpus{} : find_gpus();
  const Backend backend = choose_backend(flags, gpus);
  if (!backend.cannot_run.empty()) {
    return cannot_run(backend.cannot_run);
  }
  Planned planned = plan_for(flags, chosen.config, backend, gpus, job);
  const Estimate about = estimate(planned.plan, backend.name);
  Doing doing{backend.name,
              backend.executable,
              {},
              flags.no_evidence ? "" : flags.evidence,
              plot_path(flags)};
  for (const int ordinal : gpus.visible) {
    if (backend.name == "gpu" &&
        doing.devices.size() < static_cast<std::size_t>(planned.plan.ranks)) {
      doing.devices.push_back(ordinal >= 0 && static_cast<std::size_t>(ordinal) < gpus.all.size()
                                  ? gpus.all[static_cast<std::size_t>(ordinal)].name
                                  : "GPU");
    }
  }
  const bool first = !job || job->rank == 0;
  if (first && (flags.dry_run || !flags.yes || flags.verbose)) {
    fmt::print(flags.dry_run ? stdout : stderr, "{}", announcement(planned, about, doing));
  }
  if (backend.fallback && first) {
    fmt::print(stderr,
               "shardlint: no GPU here: the CPU reference runs instead, and says nothing "
               "about this machine's GPUs\n");
  }
  if (flags.dry_run) {
    fmt::print("{}", render_settings(planned, flags.verbose));
    return 0;
  }
  if (backend.name == "gpu") {
    if (const std::string why = too_small(planned.plan, about, gpus, job); !why.empty()) {
      return cannot_run(why);
    }
  }
  const auto& checks = planned.plan.checks;
  if (std::find(checks.begin(), checks.end(), "checkpoint") != checks.end()) {
    if (const std::string why = objection_to_directory(flags.save, about.disk); !why.empty()) {
      throw Error("checkpoint: " + why);
    }
  }
  if (first && !flags.no_evidence && !may_replace_evidence(flags.evidence)) {
    throw Error(flags.evidence + " is there and is no evidence of an earlier run: --evidence FILE");
  }
  if (!flags.yes && !ask("go ahead?")) {
    return 2;
  }
  const Launched launched = run_trainer(flags, planned, backend, job);
  const Report report = read_report(launched.report);
  take_back(report, planned);
  Judgement judgement = judge(launched, report, planned);
  if (!first && launched.ending.kind == Ending::Kind::finished) {
    return launched.ending.code;  // rank 0 tells
  }
  if (backend.fallback && judgement.exit_code == 0) {
    judgement.exit_code = 77;
    judgement.outcome = Judgement::Outcome::cannot_run;
    judgement.headline = "passed on the CPU; no GPU here, so nothing is proven about one";
  }
  tell(flags, hooks, launched, report, judgement, planned, backend);
  return judgement.exit_code;
}

}  // namespace shardlint
