#pragma once
// Whether this process is already one rank of a job that torchrun, srun or Open MPI started.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardlint::verify {

struct RankOfJob {
  std::string launcher;  // torchrun | srun | mpirun
  int rank = 0, ranks = 1, local_rank = 0;
  // What the trainer needs besides: MASTER_ADDR and MASTER_PORT where the launcher does not say,
  // or where its port is taken by the launcher itself.
  std::vector<std::pair<std::string, std::string>> set;
};

// `get` looks up an environment variable. Nothing when there is no launcher, or it started one
// process only. Throws Error when the launcher leaves out what is needed.
std::optional<RankOfJob> rank_of_job(
    const std::function<std::optional<std::string>(const char*)>& get);
std::optional<RankOfJob> rank_of_job();  // of this process

// The first host of Slurm's list: "node[03-07,12],x1" is node03.
std::string first_host(const std::string& list);

}  // namespace shardlint::verify
