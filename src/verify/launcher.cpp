#include "verify/launcher.h"

#include <cstdlib>

#include "base/error.h"
#include "base/strings.h"

namespace shardlint::verify {
namespace {

using Get = std::function<std::optional<std::string>(const char*)>;

std::optional<int> number(const Get& get, const char* name) {
  const auto text = get(name);
  const auto value = text ? to_integer(*text) : std::nullopt;
  if (!value || *value < 0 || *value > 1000000) {
    return {};
  }
  return static_cast<int>(*value);
}

// Any port that all ranks work out alike.
std::string port_from(int seed) {
  return std::to_string(20000 + seed % 20000);
}

}  // namespace

std::string first_host(const std::string& list) {
  const auto open = list.find('[');
  const auto comma = list.find(',');
  if (open == std::string::npos || comma < open) {
    return list.substr(0, comma);
  }
  const auto close = list.find(']', open);
  const std::string inside =
      list.substr(open + 1, close == std::string::npos ? close : close - open - 1);
  const std::string tail =
      close == std::string::npos ? "" : list.substr(close + 1, list.find(',', close) - close - 1);
  return list.substr(0, open) + inside.substr(0, inside.find_first_of("-,")) + tail;
}

std::optional<RankOfJob> rank_of_job(const Get& get) {
  RankOfJob job;
  if (const auto rank = number(get, "RANK"), ranks = number(get, "WORLD_SIZE"); rank && ranks) {
    job = {"torchrun", *rank, *ranks, number(get, "LOCAL_RANK").value_or(0), {}};
    if (get("TORCHELASTIC_USE_AGENT_STORE") == "True") {
      // The agent itself listens at MASTER_PORT.
      const int port = number(get, "MASTER_PORT").value_or(29500);
      job.set.emplace_back("MASTER_PORT", std::to_string(port < 65000 ? port + 1 : port - 1));
    }
  } else if (const auto procid = number(get, "SLURM_PROCID"), tasks = number(get, "SLURM_NTASKS");
             procid && tasks && get("SLURM_STEP_ID")) {
    // A batch script has all but the step: it is not a task of srun's.
    job = {"srun", *procid, *tasks, number(get, "SLURM_LOCALID").value_or(0), {}};
    if (!get("MASTER_ADDR")) {
      const auto nodes = get("SLURM_STEP_NODELIST");
      const auto all = nodes ? nodes : get("SLURM_NODELIST");
      if (!all || all->empty()) {
        throw Error("srun gave no list of nodes: export MASTER_ADDR");
      }
      job.set.emplace_back("MASTER_ADDR", first_host(*all));
    }
    if (!get("MASTER_PORT")) {
      job.set.emplace_back("MASTER_PORT", port_from(number(get, "SLURM_JOB_ID").value_or(0) +
                                                    number(get, "SLURM_STEP_ID").value_or(0)));
    }
  } else if (const auto mpi = number(get, "OMPI_COMM_WORLD_RANK"),
             size = number(get, "OMPI_COMM_WORLD_SIZE");
             mpi && size) {
    job = {"mpirun", *mpi, *size, number(get, "OMPI_COMM_WORLD_LOCAL_RANK").value_or(0), {}};
    if (!get("MASTER_ADDR")) {
      if (number(get, "OMPI_COMM_WORLD_LOCAL_SIZE") != size) {
        throw Error("several hosts under mpirun: export MASTER_ADDR (-x MASTER_ADDR=HOST)");
      }
      job.set.emplace_back("MASTER_ADDR", "127.0.0.1");
    }
    if (!get("MASTER_PORT")) {
      const auto id = get("OMPI_MCA_ess_base_jobid");
      const auto jobid = id ? to_integer(*id) : std::nullopt;
      job.set.emplace_back("MASTER_PORT", port_from(static_cast<int>(jobid.value_or(0) % 1000000)));
    }
  }
  if (job.launcher.empty() || job.ranks <= 1) {
    return {};
  }
  if (job.rank >= job.ranks) {
    throw Error(job.launcher + ": rank " + std::to_string(job.rank) + " of " +
                std::to_string(job.ranks));
  }
  return job;
}

std::optional<RankOfJob> rank_of_job() {
  return rank_of_job([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace shardlint::verify
