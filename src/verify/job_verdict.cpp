#include "verify/job_verdict.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/strings.h"

namespace shardlint::verify {
namespace {
namespace fs = std::filesystem;

// What the job wrote last below its checkpoint folder; empty when nothing there is newer.
bool written_since(const std::string& directory, time_t since) {
  std::error_code error;
  std::size_t looked = 0;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    struct stat info {};
    if (++looked > 200000) {
      return true;
    }
    if (::stat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_mtime >= since) {
      return true;
    }
  }
  return false;
}

Check criterion(std::string name, std::string verdict, std::string reason) {
  return {std::move(name), std::move(verdict), std::move(reason), 0, {}, {}};
}

Check judge_end(const Ended& e, const VerifyFlags& flags) {
  if (e.stalled) {
    return criterion("progress", "fail",
                     fmt::format("no output for {:.0f} s (limit {:.0f} s)", e.silent, flags.stall));
  }
  if (e.late) {
    return criterion("progress", "fail", fmt::format("not done after {:.0f} s", flags.deadline));
  }
  if (e.state.what == State::What::signaled) {
    return criterion("progress", "fail", "ended by " + signal_name(e.state.code));
  }
  if (e.state.code != 0) {
    return criterion("progress", "fail", fmt::format("exit status {}", e.state.code));
  }
  return criterion("progress", "pass", "ended by itself with status 0");
}

Check judge_tests(const Followed& log) {
  if (!log.tests) {
    return criterion("tests", "not_here", "the log has no test summary");
  }
  const TestSummary& t = *log.tests;
  const bool ok = t.failed == 0 && t.errors == 0 && t.passed > 0;
  return criterion("tests", ok ? "pass" : "fail",
                   fmt::format("{} passed, {} failed, {} errors, {} skipped", t.passed, t.failed,
                               t.errors, t.skipped));
}

Check judge_loss(const Followed& log) {
  if (log.first_bad_loss) {
    const LossLine& bad = *log.first_bad_loss;
    return criterion(
        "finite loss", "fail",
        std::isfinite(bad.loss)
            ? fmt::format("iteration {}: {} iterations had NaN", bad.iteration, bad.nan_iterations)
            : fmt::format("iteration {}: {} is {}", bad.iteration, bad.name, bad.loss));
  }
  if (!log.last_loss) {
    return criterion("finite loss", "not_here", "the log shows no loss");
  }
  const LossLine& last = *log.last_loss;
  if (last.of > 0 && last.iteration < last.of) {
    return criterion(
        "finite loss", "fail",
        fmt::format("the last loss is of iteration {} of {}", last.iteration, last.of));
  }
  return criterion(
      "finite loss", "pass",
      fmt::format("iteration {}{}: {} {}", last.iteration,
                  last.of > 0 ? fmt::format("/{}", last.of) : "", last.name, last.loss));
}

Check judge_checkpoint(const std::string& path, time_t since, const VerifyHooks& hooks,
                       std::vector<Diagnostic>& findings) {
  if (path.empty()) {
    return criterion("checkpoint", "not_here", "no folder is known: --checkpoint DIR");
  }
  if (!hooks.check_checkpoint) {
    return criterion("checkpoint", "not_here", "this build cannot check checkpoints");
  }
  if (!written_since(path, since)) {
    return criterion("checkpoint", "fail", "nothing was written to " + path);
  }
  std::vector<Diagnostic> found;
  try {
    found = hooks.check_checkpoint(path);
  } catch (const Error& error) {
    return criterion("checkpoint", "fail", error.what());
  }
  const auto errors = std::count_if(found.begin(), found.end(), [](const Diagnostic& d) {
    return d.severity == Severity::error && d.verdict == Verdict::violation;
  });
  const std::size_t all = found.size();
  std::string first = errors > 0 ? ": " + found[0].message : "";
  findings.insert(findings.end(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
  return criterion("checkpoint", errors > 0 ? "fail" : "pass",
                   fmt::format("{}: {} findings, {} of them errors{}", path, all, errors, first));
}

struct Code {
  std::string_view check, code, name;
};
constexpr Code codes[] = {
    {"progress", "VFY201", "job-did-not-finish"},
    {"tests", "VFY202", "job-tests-failed"},
    {"finite loss", "VFY203", "job-loss-not-finite"},
    {"checkpoint format", "VFY204", "job-checkpoint-format-refused"},
    {"checkpoint", "VFY205", "job-checkpoint-unsound"},
};

Diagnostic finding(const Check& check, const Planned& planned) {
  Diagnostic d;
  for (const Code& row : codes) {
    if (row.check == check.name) {
      d.code = row.code;
      d.name = row.name;
    }
  }
  d.message = check.name + ": " + check.reason;
  d.where = place_of(check.name == "finite loss"            ? "finite"
                     : check.name.starts_with("checkpoint") ? "checkpoint"
                                                            : "hang",
                     planned);
  d.framework = planned.framework;
  d.fingerprint = fmt::format("{:016x}", stable_hash(d.code + "\n" + d.where.file));
  return d;
}

}  // namespace

Judgement judge_run(const VerifyFlags& flags, const VerifyHooks& hooks, const Planned& planned,
                    const JobRun& run, const std::string& checkpoint, time_t since) {
  Judgement out;
  const Followed& log = run.log;
  out.diagnostics = log.explained;
  for (Diagnostic& d : out.diagnostics) {
    d.where = d.where.file.empty() ? planned.anchor : d.where;
  }
  out.checks = {
      judge_end(run.ended, flags), judge_tests(log), judge_loss(log),
      criterion("checkpoint format", log.format_assertion.empty() ? "pass" : "fail",
                log.format_assertion.empty() ? "no assertion about it" : log.format_assertion)};
  std::vector<Diagnostic> inside;
  out.checks.push_back(judge_checkpoint(checkpoint, since, hooks, inside));
  out.diagnostics.insert(out.diagnostics.end(), inside.begin(), inside.end());
  std::string first;
  for (const Check& check : out.checks) {
    if (check.verdict == "fail") {
      first = first.empty() ? check.name + ": " + check.reason : first;
      out.diagnostics.push_back(finding(check, planned));
    }
  }
  const bool proven = out.checks[1].verdict == "pass" || out.checks[2].verdict == "pass";
  if (run.ended.signal != 0) {
    out.headline = "interrupted: " + signal_name(run.ended.signal);
    out.exit_code = 128 + run.ended.signal;
  } else if (!first.empty()) {
    out.outcome = Judgement::Outcome::fail;
    out.headline = "fail: " + first;
    out.headline += log.first_error.empty() ? "" : "; its first error: " + log.first_error;
    out.exit_code = 1;
  } else if (!proven) {
    out.headline = "nothing proven: the log shows neither passed tests nor a loss";
    out.exit_code = 2;
  } else {
    out.outcome = Judgement::Outcome::pass;
    out.headline = "pass";
    out.exit_code = 0;
  }
  out.headline += fmt::format(" [after {:.1f} s]", run.ended.seconds);
  return out;
}

}  // namespace shardlint::verify
