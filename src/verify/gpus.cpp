#include "verify/gpus.h"

#include <cstdlib>
#include <functional>

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/files.h"
#include "base/strings.h"

namespace shardlint::verify {
namespace {

// Never closed: drivers do not like to be unloaded.
void* open_library(const std::string& path) {
  return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
}

template <typename... Arguments>
bool call(void* library, const char* name, Arguments... arguments) {
  void* symbol = ::dlsym(library, name);
  return symbol && reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...) == 0;
}

using Handle = void*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlPci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

Gpu ask_nvml(void* nvml, Handle device) {
  Gpu gpu;
  char name[96] = {};
  if (call<Handle, char*, unsigned>(nvml, "nvmlDeviceGetName", device, name, sizeof name)) {
    gpu.name = name;
  }
  call<Handle, int*, int*>(nvml, "nvmlDeviceGetCudaComputeCapability", device, &gpu.major,
                           &gpu.minor);
  NvmlMemory memory{};
  if (call<Handle, NvmlMemory*>(nvml, "nvmlDeviceGetMemoryInfo", device, &memory)) {
    gpu.total = memory.total;
    gpu.free = memory.free;
  }
  NvmlPci pci{};
  if (call<Handle, NvmlPci*>(nvml, "nvmlDeviceGetPciInfo_v3", device, &pci)) {
    pci.bus_id[sizeof pci.bus_id - 1] = 0;
    gpu.pci = pci.bus_id;
  }
  int current = 0, pending = 0;
  gpu.ecc = call<Handle, int*, int*>(nvml, "nvmlDeviceGetEccMode", device, &current, &pending) &&
            current == 1;
  unsigned long long errors = 0;
  constexpr int uncorrected = 1, since_load = 0;
  if (call<Handle, int, int, unsigned long long*>(nvml, "nvmlDeviceGetTotalEccErrors", device,
                                                  uncorrected, since_load, &errors)) {
    gpu.uncorrected_errors = errors;
  }
  int mode = 0;
  gpu.exclusive = call<Handle, int*>(nvml, "nvmlDeviceGetComputeMode", device, &mode) && mode != 0;
  unsigned mig = 0, mig_pending = 0;
  gpu.mig = call<Handle, unsigned*, unsigned*>(nvml, "nvmlDeviceGetMigMode", device, &mig,
                                               &mig_pending) &&
            mig == 1;
  unsigned count = 64;
  std::vector<NvmlProcess> processes(count);
  if (call<Handle, unsigned*, NvmlProcess*>(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", device,
                                            &count, processes.data())) {
    gpu.processes = static_cast<int>(count);
  }
  return gpu;
}

bool ask_nvml(Gpus& out) {
  void* nvml = open_library("libnvidia-ml.so.1");
  if (!nvml) {
    return false;
  }
  out.library = "libnvidia-ml.so.1";
  if (!call(nvml, "nvmlInit_v2")) {
    out.problem = "the driver's management library does not start (no driver, or another version)";
    return true;
  }
  char text[96] = {};
  if (call<char*, unsigned>(nvml, "nvmlSystemGetDriverVersion", text, sizeof text)) {
    out.driver = text;
  }
  call<int*>(nvml, "nvmlSystemGetCudaDriverVersion_v2", &out.cuda);
  unsigned count = 0;
  call<unsigned*>(nvml, "nvmlDeviceGetCount_v2", &count);
  std::vector<Handle> handles;
  for (unsigned i = 0; i < count && i < 256; ++i) {
    Handle device = nullptr;
    if (call<unsigned, Handle*>(nvml, "nvmlDeviceGetHandleByIndex_v2", i, &device)) {
      out.all.push_back(ask_nvml(nvml, device));
      handles.push_back(device);
    }
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    for (std::size_t k = 0; k < handles.size(); ++k) {
      int status = 0;
      constexpr int reading = 0;
      if (i != k && call<Handle, Handle, int, int*>(nvml, "nvmlDeviceGetP2PStatus", handles[i],
                                                    handles[k], reading, &status)) {
        out.peer_access = out.peer_access && status == 0;
      }
    }
  }
  call(nvml, "nvmlShutdown");
  return true;
}

// Some containers come with the CUDA driver and without the management library.
void ask_cuda(Gpus& out) {
  void* cuda = open_library("libcuda.so.1");
  if (!cuda) {
    return;
  }
  out.library = "libcuda.so.1";
  if (!call<unsigned>(cuda, "cuInit", 0u)) {
    out.problem = "the CUDA driver does not start, or sees no GPU";
    return;
  }
  call<int*>(cuda, "cuDriverGetVersion", &out.cuda);
  int count = 0;
  call<int*>(cuda, "cuDeviceGetCount", &count);
  for (int i = 0; i < count && i < 256; ++i) {
    Gpu gpu;
    char name[96] = {};
    if (call<char*, int, int>(cuda, "cuDeviceGetName", name, sizeof name, i)) {
      gpu.name = name;
    }
    constexpr int major = 75, minor = 76;
    call<int*, int, int>(cuda, "cuDeviceGetAttribute", &gpu.major, major, i);
    call<int*, int, int>(cuda, "cuDeviceGetAttribute", &gpu.minor, minor, i);
    std::size_t bytes = 0;
    call<std::size_t*, int>(cuda, "cuDeviceTotalMem_v2", &bytes, i);
    gpu.total = bytes;
    gpu.free = bytes;
    out.all.push_back(std::move(gpu));
  }
}

std::vector<int> visible_of(std::size_t count) {
  std::vector<int> out;
  const char* set = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!set) {
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(static_cast<int>(i));
    }
    return out;
  }
  // CUDA numbers what is left anew; an entry that it cannot read ends the list.
  for (const std::string_view entry : split(set, ',')) {
    const std::string_view word = trim(entry);
    const auto ordinal = to_integer(word);
    const bool named = word.starts_with("GPU-") || word.starts_with("MIG-");
    if (!named && (!ordinal || *ordinal < 0 || static_cast<std::size_t>(*ordinal) >= count)) {
      break;
    }
    out.push_back(ordinal ? static_cast<int>(*ordinal) : -1);
  }
  return out;
}

Library find_library(const std::vector<std::string>& candidates,
                     const std::function<long(void*)>& version) {
  for (const std::string& candidate : candidates) {
    if (candidate.find('/') != std::string::npos && ::access(candidate.c_str(), R_OK) != 0) {
      continue;
    }
    if (void* library = open_library(candidate)) {
      Library out{candidate, version(library)};
      if (candidate.find('/') == std::string::npos) {
        Dl_info info{};
        const char* any =
            candidate.starts_with("libnccl") ? "ncclGetVersion" : "cublasLtGetVersion";
        if (void* symbol = ::dlsym(library, any); symbol && ::dladdr(symbol, &info) != 0) {
          out.path = info.dli_fname;
        }
      }
      return out;
    }
  }
  return {};
}

}  // namespace

Gpus find_gpus() {
  // A thread that the driver's library starts must not be the one that takes SIGTERM: it would end
  // us at once, with the ranks running. Threads inherit the mask in force when they start.
  sigset_t every, old;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_SETMASK, &every, &old);
  Gpus out;
  if (!ask_nvml(out)) {
    ask_cuda(out);
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  out.visible = visible_of(out.all.size());
  return out;
}

std::string capability(const Gpu& gpu) {
  return fmt::format("{}.{}", gpu.major, gpu.minor);
}

Library find_nccl(const std::vector<std::string>& site_packages) {
  std::vector<std::string> candidates = {"libnccl.so.2"};
  for (const std::string& folder : site_packages) {
    candidates.push_back(join_path(folder, "nvidia/nccl/lib/libnccl.so.2"));
  }
  return find_library(candidates, [](void* library) -> long {
    int version = 0;
    return call<int*>(library, "ncclGetVersion", &version) ? version : 0;
  });
}

Library find_cublaslt(const std::vector<std::string>& site_packages) {
  std::vector<std::string> candidates = {"libcublasLt.so.13", "libcublasLt.so.12",
                                         "/usr/local/cuda/lib64/libcublasLt.so"};
  for (const std::string& folder : site_packages) {
    candidates.push_back(join_path(folder, "nvidia/cu13/lib/libcublasLt.so.13"));
    candidates.push_back(join_path(folder, "nvidia/cublas/lib/libcublasLt.so.12"));
  }
  return find_library(candidates, [](void* library) -> long {
    void* symbol = ::dlsym(library, "cublasLtGetVersion");
    return symbol ? static_cast<long>(reinterpret_cast<std::size_t (*)()>(symbol)()) : 0;
  });
}

std::string nccl_version_text(long version) {
  // Since 2.9 the number has two digits more.
  if (version >= 10000) {
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  return fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100);
}

}  // namespace shardlint::verify
