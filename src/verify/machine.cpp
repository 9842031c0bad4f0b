// Looks around. Nothing is judged here.
#include <cmath>
#include <cstdlib>

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "verify/doctor.h"
#include "verify/launch.h"

namespace shardlint::verify {
namespace {

double soft_limit(__rlimit_resource resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0) {
    return 0;
  }
  return limit.rlim_cur == RLIM_INFINITY ? HUGE_VAL : static_cast<double>(limit.rlim_cur);
}

}  // namespace

Machine look_around(const std::string& python) {
  Machine out;
  out.gpus = find_gpus();
  out.python = find_python(python);
  out.packages = installed(out.python.site_packages);
  out.nccl = find_nccl(out.python.site_packages);
  out.cublaslt = find_cublaslt(out.python.site_packages);
  for (const char* name : {"torchrun", "srun", "mpirun", "uv", "pytest"}) {
    if (std::string path = find_program(name, out.python); !path.empty()) {
      out.programs[name] = std::move(path);
    }
  }
  for (const char* name :
       {"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_VISIBLE_DEVICES", "NCCL_P2P_DISABLE",
        "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME"}) {
    if (const char* value = std::getenv(name)) {
      out.environment[name] = value;
    }
  }
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0) {
    out.shared_memory = static_cast<double>(shared.f_bavail) * static_cast<double>(shared.f_frsize);
  }
  out.open_files = soft_limit(RLIMIT_NOFILE);
  out.locked_memory = soft_limit(RLIMIT_MEMLOCK);
  out.trainer_cpu = !find_trainer("cpu").empty();
  out.trainer_gpu = !find_trainer("gpu").empty();
  return out;
}

}  // namespace shardlint::verify
