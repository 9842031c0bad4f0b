#include "verify/run_command.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "report/tool.h"
#include "verify/events.h"
#include "verify/evidence.h"
#include "verify/follow.h"
#include "verify/job_verdict.h"
#include "verify/judge.h"
#include "verify/process.h"
#include "verify/safety.h"
#include "verify/table.h"

namespace shardlint::verify {
namespace {
std::string in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return name;
  }
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path ? path : "", ':')) {
    const std::string candidate = join_path(folder.empty() ? "." : folder, name);
    if (::access(candidate.c_str(), X_OK) == 0 && RealDisk().is_file(candidate)) {
      return candidate;
    }
  }
  throw Error(name + ": no such program in PATH");
}

// Runs the command, shows its output as it comes, ends it when it stalls.
JobRun follow(const VerifyFlags& flags, const VerifyHooks& hooks, const Config* config,
              const Command& command, bool echo) {
  Supervisor supervisor;
  Child child(command);
  std::function<std::optional<Diagnostic>(std::string_view)> explain;
  if (hooks.runtime_error) {
    explain = [&](std::string_view line) { return hooks.runtime_error(line, config); };
  }
  LogReader reader(std::move(explain));
  Log log;
  Lines out, err;
  JobRun result;
  const double start = now();
  double heard = start, last = start, ending_since = -1;
  const auto take = [&](Lines& lines, int fd, bool end) {
    char bytes[1 << 16];
    for (int i = 0; i < 64; ++i) {
      const ssize_t n = ::read(fd, bytes, sizeof bytes);
      if (n <= 0) {
        if (end || n == 0) {
          if (const std::string rest = lines.rest(); !rest.empty()) {
            reader.line(rest);
            log.add(rest);
          }
        }
        return n < 0 && (errno == EAGAIN || errno == EINTR);
      }
      const std::string_view piece(bytes, static_cast<std::size_t>(n));
      heard = now();
      if (echo) {
        std::fwrite(piece.data(), 1, piece.size(), stderr);
      }
      for (const std::string& line : lines.feed(piece)) {
        reader.line(line);
        log.add(line);
      }
    }
    return true;
  };
  for (;;) {
    pollfd fds[] = {
        {supervisor.fd(), POLLIN, 0}, {child.out(), POLLIN, 0}, {child.err(), POLLIN, 0}};
    ::poll(fds, 3, 100);
    const double time = now();
    if (time - last > 3) {  // we were stopped ourselves
      heard += time - last;
    }
    last = time;
    result.ended.state = child.poll();
    const bool ended = result.ended.state.what == State::What::exited ||
                       result.ended.state.what == State::What::signaled;
    if (child.out() >= 0 && !take(out, child.out(), ended)) {
      child.close_out();
    }
    if (child.err() >= 0 && !take(err, child.err(), ended)) {
      child.close_err();
    }
    if (ended) {
      break;
    }
    if (ending_since >= 0) {
      if (time - ending_since > 10) {
        break;  // it does not end: killed below
      }
      continue;
    }
    result.ended.signal = supervisor.interrupted();
    result.ended.stalled = flags.stall > 0 && time - heard > flags.stall;
    result.ended.late = flags.deadline > 0 && time - start > flags.deadline;
    if (result.ended.signal != 0 || result.ended.stalled || result.ended.late) {
      result.ended.silent = time - heard;
      ending_since = time;
      child.signal_group(SIGTERM);
      child.signal_group(SIGCONT);
    }
  }
  result.ended.seconds = now() - start;
  child.reap();
  result.ended.strays = supervisor.sweep();
  result.log = reader.seen();
  result.text = log.text();
  return result;
}

std::string checkpoint_of(const VerifyFlags& flags, const Config* config) {
  if (!flags.checkpoint.empty() || !config) {
    return flags.checkpoint;
  }
  for (const char* key : {"save", "checkpoint.save", "trainer.default_local_dir"}) {
    const Entry* entry = config->find(key);
    if (entry && entry->value().if_string()) {
      return *entry->value().if_string();
    }
  }
  return {};
}

std::string evidence_json(const std::vector<std::string>& command, const Planned& planned,
                          const JobRun& run, const Judgement& judgement) {
  using json = nlohmann::ordered_json;
  json checks = json::array(), findings = json::array(), environment = json::object();
  for (const Check& check : judgement.checks) {
    checks.push_back({{"name", check.name}, {"verdict", check.verdict}, {"reason", check.reason}});
  }
  for (const Diagnostic& d : judgement.diagnostics) {
    findings.push_back({{"code", d.code},
                        {"name", d.name},
                        {"message", d.message},
                        {"file", d.where.file},
                        {"line", d.where.begin.line}});
  }
  for (const auto& [name, value] : planned.environment) {
    environment[name] = value;
  }
  const json root = {
      {"tool", "shardlint verify"},
      {"version", 1},
      {"shardlint", this_tool().version},
      {"command", command},
      {"environment", environment},
      {"unset", planned.unset},
      {"configuration", {{"framework", planned.framework}, {"digest", planned.digest}}},
      {"verdict", {{"headline", judgement.headline}, {"exit_code", judgement.exit_code}}},
      {"seconds", run.ended.seconds},
      {"processes_killed_afterwards", run.ended.strays},
      {"checks", checks},
      {"findings", findings},
      {"log", run.text}};
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_command(const VerifyFlags& flags, const VerifyHooks& hooks, const Config* config) {
  const Planned planned = make_plan(config, Wishes{});
  Command command;
  command.argv = flags.command;
  command.argv[0] = in_path(flags.command[0]);
  command.set = planned.environment;
  command.unset = planned.unset;
  const std::string checkpoint = checkpoint_of(flags, config);
  std::string said =
      "shardlint verify will run:\n  command      " + join(flags.command, " ") + "\n";
  for (const auto& [name, value] : planned.environment) {
    said += "  environment  " + name + "=" + value + "\n";
  }
  for (const std::string& name : planned.unset) {
    said += "  environment  without " + name + "\n";
  }
  said += fmt::format("  ended        after {:.0f} s without output{}\n", flags.stall,
                      flags.deadline > 0 ? fmt::format(", or {:.0f} s", flags.deadline) : "");
  said += checkpoint.empty() ? "" : "  then checks  the checkpoint in " + checkpoint + "\n";
  said += flags.no_evidence ? "" : "  writes       " + flags.evidence + "\n";
  if (flags.dry_run || !flags.yes) {
    fmt::print(flags.dry_run ? stdout : stderr, "{}", said);
  }
  if (flags.dry_run) {
    return 0;
  }
  if (!flags.no_evidence && !may_replace_evidence(flags.evidence)) {
    throw Error(flags.evidence + " is there and is no evidence of an earlier run: --evidence FILE");
  }
  if (!flags.yes && !ask("go ahead?")) {
    return 2;
  }
  const time_t since = ::time(nullptr);
  const JobRun run = follow(flags, hooks, config, command, true);
  const Judgement judgement = judge_run(flags, hooks, planned, run, checkpoint, since);
  const std::string json = evidence_json(flags.command, planned, run, judgement);
  if (!flags.no_evidence) {
    write_atomically(flags.evidence, json);
  }
  if (flags.format == "json") {
    fmt::print("{}", json);
  } else if (flags.format == "text" || !hooks.render) {
    fmt::print("{}", render(judgement, Report{}, planned, flags.verbose));
  } else {
    fmt::print("{}", hooks.render(judgement.diagnostics, flags.format));
    fmt::print(stderr, "verdict: {}\n", judgement.headline);
  }
  return judgement.exit_code;
}

}  // namespace shardlint::verify
