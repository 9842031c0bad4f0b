// A GPU a rank. The CUDA runtime is linked statically; the driver and everything else is found at
// run time.

#include <cstdlib>
#include <cstring>
#include <mutex>

#include <dlfcn.h>
#include <glob.h>

#include "ranks/cuda_call.h"
#include "ranks/device.h"
#include "ranks/libraries.h"

namespace shardlint::ranks {

Stream::Stream(bool urgent) {
  int low = 0, high = 0;
  cuda(cudaDeviceGetStreamPriorityRange(&low, &high), "ask for stream priorities");
  cudaStream_t stream = nullptr;
  cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent ? high : low),
       "create a stream");
  native_ = stream;
}
Stream::~Stream() {
  cudaStreamSynchronize(static_cast<cudaStream_t>(native_));
  cudaStreamDestroy(static_cast<cudaStream_t>(native_));
}
void Stream::wait_for(const Event& event) {
  cuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(native_),
                           static_cast<cudaEvent_t>(event.native()), 0),
       "make a stream wait");
}
void Stream::synchronize() {
  cuda(cudaStreamSynchronize(static_cast<cudaStream_t>(native_)), "wait for a stream");
}

Event::Event(bool timed) {
  cudaEvent_t event = nullptr;
  cuda(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
       "create an event");
  native_ = event;
}
Event::~Event() {
  if (native_ != nullptr) {
    cudaEventDestroy(static_cast<cudaEvent_t>(native_));
  }
}
Event::Event(Event&& other) noexcept : native_(other.native_) {
  other.native_ = nullptr;
}
void Event::record(const Stream& stream) {
  cuda(cudaEventRecord(static_cast<cudaEvent_t>(native_), stream_of(stream)), "record an event");
}
void Event::synchronize() const {
  cuda(cudaEventSynchronize(static_cast<cudaEvent_t>(native_)), "wait for an event");
}
double milliseconds_between(const Event& first, const Event& second) {
  float ms = 0;
  cuda(cudaEventElapsedTime(&ms, static_cast<cudaEvent_t>(first.native()),
                            static_cast<cudaEvent_t>(second.native())),
       "read the time between events");
  return static_cast<double>(ms);
}

void use_device(int ordinal) {
  cuda(cudaSetDevice(ordinal), ("use device " + std::to_string(ordinal)).c_str());
  cuda(cudaFree(nullptr), ("start device " + std::to_string(ordinal)).c_str());
}

void* device_allocate(std::size_t bytes) {
  void* memory = nullptr;
  cuda(cudaMalloc(&memory, bytes),
       ("allocate " + std::to_string(bytes) + " bytes of device memory").c_str());
  return memory;
}
void device_release(void* memory) noexcept {
  cudaFree(memory);
}

void copy_in(void* device, const void* host, std::size_t bytes, Stream& stream) {
  cuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_of(stream)),
       "copy to the device");
}
void copy_out(void* host, const void* device, std::size_t bytes, Stream& stream) {
  cuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_of(stream)),
       "copy from the device");
  stream.synchronize();
}
void copy_within(void* to, const void* from, std::size_t bytes, Stream& stream) {
  cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream)),
       "copy on the device");
}
void copy_out_later(void* host, const void* device, std::size_t bytes, Stream& stream) {
  cuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_of(stream)),
       "copy from the device");
}
void clear(void* device, std::size_t bytes, Stream& stream) {
  cuda(cudaMemsetAsync(device, 0, bytes, stream_of(stream)), "clear device memory");
}
void* pinned_allocate(std::size_t bytes) {
  void* memory = nullptr;
  cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault),
       ("allocate " + std::to_string(bytes) + " bytes of pinned memory").c_str());
  return memory;
}
void pinned_release(void* memory) noexcept {
  cudaFreeHost(memory);
}

std::string backend_name() {
  return "gpu";
}

int device_count(std::string& why_none) {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess || count == 0) {
    why_none = code == cudaSuccess ? "the driver shows none" : cudaGetErrorString(code);
    return 0;
  }
  return count;
}

DeviceFacts device_facts(int ordinal) {
  if (ordinal < 0) {
    cuda(cudaGetDevice(&ordinal), "ask for the current device");
  }
  cudaDeviceProp properties{};
  cuda(cudaGetDeviceProperties(&properties, ordinal), "ask for device properties");
  int current = 0;
  cuda(cudaGetDevice(&current), "ask for the current device");
  DeviceFacts facts;
  facts.ordinal = ordinal;
  facts.name = properties.name;
  facts.capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  facts.multiprocessors = properties.multiProcessorCount;
  facts.memory_bytes = properties.totalGlobalMem;
  facts.ecc = properties.ECCEnabled;
  char pci[32] = {};
  cuda(cudaDeviceGetPCIBusId(pci, sizeof pci, ordinal), "ask for the PCI address");
  facts.pci = pci;
  std::size_t free = 0, total = 0;
  cuda(cudaSetDevice(ordinal), "use a device");
  cuda(cudaMemGetInfo(&free, &total), "ask for free memory");
  cuda(cudaSetDevice(current), "use a device");
  facts.free_bytes = free;
  return facts;
}

std::uint64_t device_used_bytes() {
  std::size_t free = 0, total = 0;
  cuda(cudaMemGetInfo(&free, &total), "ask for free memory");
  return total - free;
}

// By PCI address: two processes may each see one device, and call both of them 0.
LinkFacts link_facts(const DeviceFacts& from_device, const DeviceFacts& to_device) {
  LinkFacts facts;
  int from = 0, to = 0, yes = 0, rank = 0, atomics = 0;
  if (cudaDeviceGetByPCIBusId(&from, from_device.pci.c_str()) != cudaSuccess ||
      cudaDeviceGetByPCIBusId(&to, to_device.pci.c_str()) != cudaSuccess || from == to) {
    cudaGetLastError();  // or the next launch would be blamed for it
    facts.known = false;
    return facts;
  }
  cuda(cudaDeviceCanAccessPeer(&yes, from, to), "ask for peer access");
  facts.peer_access = yes != 0;
  if (cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, from, to) == cudaSuccess) {
    facts.performance_rank = rank;
  }
  // Atomics between devices work over NVLink and not over PCI Express.
  if (yes == 0) {
    facts.kind = "none";
  } else if (cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to) ==
             cudaSuccess) {
    facts.kind = atomics != 0 ? "nvlink" : "pci";
  }
  cudaGetLastError();
  return facts;
}

void* load_library(const char* name, const char* override_variable, std::string& path,
                   std::string& why) {
  std::vector<std::string> tries;
  if (const char* wish = std::getenv(override_variable)) {
    tries.emplace_back(wish);
  } else {
    tries.emplace_back(name);
    const auto search = [&](const std::string& pattern) {
      glob_t found{};
      if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc; ++i) {
          tries.emplace_back(found.gl_pathv[i]);
        }
      }
      ::globfree(&found);
    };
    const std::string file = name;
    for (const char* root : {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH")}) {
      if (root != nullptr) {
        search(std::string(root) + "/lib64/" + file);
      }
    }
    search("/usr/local/cuda/lib64/" + file);
    search("/usr/local/cuda/lib/" + file);
    for (const char* root : {std::getenv("VIRTUAL_ENV"), std::getenv("CONDA_PREFIX")}) {
      if (root != nullptr) {
        search(std::string(root) + "/lib/python3*/site-packages/nvidia/*/lib/" + file);
      }
    }
    search("/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib/" + file);
    search("/opt/*/lib/python3*/site-packages/nvidia/*/lib/" + file);
    search("/usr/lib/python3/dist-packages/nvidia/*/lib/" + file);
    search("/usr/local/lib/python3*/dist-packages/nvidia/*/lib/" + file);
    search("/usr/local/lib/python3*/site-packages/nvidia/*/lib/" + file);
  }
  for (const std::string& at : tries) {
    if (void* library = ::dlopen(at.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      path = at;
      return library;
    }
    if (why.empty()) {
      const char* text = ::dlerror();
      why = text == nullptr ? at : text;
    }
  }
  return nullptr;
}

namespace {

std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

}  // namespace

std::string load_libraries(RuntimeFacts& facts) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  facts.driver = version_text(driver);
  facts.cuda_runtime = version_text(runtime);
  if (driver == 0) {
    return "no NVIDIA driver";
  }
  const NcclLibrary& nccl = nccl_library();
  facts.nccl = nccl.version_text;
  facts.nccl_path = nccl.path;
  if (!nccl.why_not.empty()) {
    return nccl.why_not;
  }
  const BlasLibrary& blas = blas_library();
  facts.cublaslt = blas.version_text;
  facts.cublaslt_path = blas.path;
  return blas.why_not;
}

}  // namespace shardlint::ranks
