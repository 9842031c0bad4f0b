#pragma once
// shardlint doctor: what this machine has, each held against what a configuration needs.

#include <map>
#include <string>
#include <vector>

#include "verify/gpus.h"
#include "verify/packages.h"
#include "verify/verify.h"

namespace shardlint {

struct DoctorFlags {
  std::vector<std::string> paths;
  std::string instance, python;  // the interpreter whose packages count
  bool smoke_test = false;       // uv and pytest are needed too
  std::string format = "text";
};

// Exit codes: 0 nothing that is needed is missing, 1 something is, 2 could not look.
int doctor(const DoctorFlags& flags, const VerifyHooks& hooks);

namespace verify {

// Everything that is looked at, so that the judgement can be tested without a machine.
struct Machine {
  Gpus gpus;
  Library nccl, cublaslt;
  Python python;
  std::map<std::string, Package> packages;
  std::map<std::string, std::string> programs;     // torchrun, srun, mpirun, uv, pytest
  std::map<std::string, std::string> environment;  // the variables that matter
  double shared_memory = -1;                       // bytes free in /dev/shm; -1: not there
  double open_files = 0, locked_memory = 0;        // soft limits; infinity: none
  bool trainer_cpu = false, trainer_gpu = false;
};
Machine look_around(const std::string& python);

struct Finding {
  enum class Verdict { ok, info, warning, missing } verdict = Verdict::ok;
  std::string what, found, needed, why;
  Location where;  // the setting that needs it
};
std::vector<Finding> examine(const Machine& machine, const Config* config, bool smoke_test);

}  // namespace verify
}  // namespace shardlint
