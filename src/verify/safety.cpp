#include "verify/safety.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "verify/table.h"

namespace shardlint::verify {
namespace {

std::string folder_of(const std::string& directory) {
  if (!directory.empty()) {
    return directory;
  }
  const char* temporary = std::getenv("TMPDIR");
  return temporary && *temporary ? temporary : "/tmp";
}

// The nearest folder above that exists: what is missing will be made below it.
std::string existing_part(std::string path) {
  const RealDisk disk;
  while (!disk.is_directory(path) && path != "." && path != "/") {
    path = parent_path(path);
  }
  return path;
}

// What a finished or unfinished checkpoint looks like from outside.
std::string checkpoint_inside(const std::string& directory) {
  const RealDisk disk;
  for (const std::string& name : disk.list(directory)) {
    if (glob_match("iter_*", name) || glob_match("global_step*", name) || name == ".metadata" ||
        name == "latest_checkpointed_iteration.txt" || name == "latest_train_state.pt" ||
        glob_match("*.distcp", name)) {
      return name;
    }
  }
  return {};
}

}  // namespace

Estimate estimate(const Plan& plan, std::string_view backend) {
  const double c = plan.hidden, l = plan.layers, s = plan.sequence, v = plan.vocab;
  Estimate out;
  const double mlp = 8 * c * c;
  out.parameters = 2 * v * c + s * c + l * 12 * c * c + (4 * l + 2) * c;
  out.parameters += plan.experts > 0 ? (plan.experts - 1) * mlp + plan.experts * c : 0;
  // bf16 copy, fp32 gradient, main parameter and two moments; activations of every layer; one chunk
  // of logits at a time.
  const double activations = l * plan.micro_batch * s * c * 40;
  out.memory_per_rank = out.parameters * 18 + activations + (backend == "gpu" ? 1.2e9 : 5e7);
  for (const std::uint64_t size : plan.collective_sizes) {
    out.memory_per_rank = std::max(out.memory_per_rank, 3.0 * static_cast<double>(size) + 1e9);
  }
  if (backend != "gpu") {
    out.memory_per_rank = out.parameters * 18 + activations + 5e7;
  }
  const double checkpoint = 13 * out.parameters + 65536;
  out.disk = checkpoint * (plan.asynchronous ? 3 : 2);
  // Runs: the configuration's own, unsharded, the other strategies, resumed, resharded.
  const double runs = plan.compare ? 12 : 8;
  const double flops = 6 * out.parameters * plan.micro_batch * s * plan.micro_batches * plan.ranks *
                       plan.steps * runs;
  out.seconds = backend == "gpu" ? 3 + flops / (plan.ranks * 1.5e14) + out.disk / 5e8
                                 : 2 + flops / 1.5e10 + out.disk / 2e8;
  return out;
}

std::string announcement(const Planned& planned, const Estimate& estimate, const Doing& doing) {
  const Plan& plan = planned.plan;
  std::string out;
  const auto line = [&](const char* name, const std::string& text) {
    out += fmt::format("  {:<12} {}\n", name, text);
  };
  out += "shardlint verify will run:\n";
  line("trainer", doing.executable);
  line("ranks", fmt::format("{} {} on the {}{}", plan.ranks, plan.mode,
                            doing.backend == "gpu" ? "GPUs" : "CPU",
                            doing.devices.empty()
                                ? ""
                                : ": " + join({doing.devices.begin(), doing.devices.end()}, ", ")));
  line("model",
       fmt::format("{} layers, hidden {}, {} heads, vocabulary {}, sequence {}{}: {:.1f} M "
                   "parameters",
                   plan.layers, plan.hidden, plan.heads, plan.vocab, plan.sequence,
                   plan.experts > 0 ? fmt::format(", {} experts", plan.experts) : "",
                   estimate.parameters / 1e6));
  line("strategy",
       fmt::format("{}{}{}{}", plan.strategy,
                   plan.outer_size > 1 ? fmt::format(" in {} replicas", plan.outer_size) : "",
                   plan.overlap_grad_reduce ? ", overlapped reduction" : "",
                   plan.overlap_param_gather ? ", overlapped gather" : ""));
  line("checks", join(plan.checks, ", ") + (plan.compare ? ", all strategies compared" : ""));
  line("memory", fmt::format("about {} {}", bytes_text(estimate.memory_per_rank),
                             doing.backend == "gpu" ? "of each GPU" : "of RAM per rank"));
  line("time", fmt::format("about {:.0f} s, ended after {:.0f} s whatever happens",
                           std::max(estimate.seconds, 1.0), plan.total_deadline));
  const bool saves =
      std::find(plan.checks.begin(), plan.checks.end(), "checkpoint") != plan.checks.end();
  line("writes",
       saves ? fmt::format("up to {} below {}, {}", bytes_text(estimate.disk),
                           folder_of(plan.checkpoint_directory),
                           plan.keep_checkpoint ? "the checkpoint is kept" : "removed at the end")
             : std::string("no checkpoint"));
  for (const std::string& file : {doing.evidence, doing.plot}) {
    if (!file.empty()) {
      line("writes", file);
    }
  }
  for (const auto& [name, value] : planned.environment) {
    line("environment", name + "=" + value);
  }
  for (const Fault& fault : plan.faults) {
    line("fault", fmt::format("{} (rank {}, step {})", fault.kind, fault.rank, fault.step));
  }
  return out;
}

std::string objection_to_directory(const std::string& directory, double bytes) {
  const std::string folder = folder_of(directory);
  const std::string base = existing_part(folder);
  if (const std::string inside = directory.empty() ? "" : checkpoint_inside(directory);
      !inside.empty()) {
    return fmt::format("{} holds a checkpoint already ({}): nothing is ever overwritten", directory,
                       inside);
  }
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    return folder + " is not a directory";
  }
  std::string probe = base + "/.shardlint-XXXXXX";  // root may write where permissions say no
  if (!::mkdtemp(probe.data())) {
    return fmt::format("cannot write to {}: {}", base, std::strerror(errno));
  }
  ::rmdir(probe.c_str());
  struct statvfs room {};
  if (::statvfs(base.c_str(), &room) == 0) {
    const double free = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
    if (free < bytes) {
      return fmt::format("{} has room for {}, up to {} are needed", base, bytes_text(free),
                         bytes_text(bytes));
    }
  }
  return {};
}

bool ask(std::string_view question) {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
    throw Error("no terminal to ask on: --yes to go ahead, --dry-run to see what would be done");
  }
  fmt::print(stderr, "{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  const std::string word = lower(trim(answer));
  return word == "y" || word == "yes";
}

}  // namespace shardlint::verify
