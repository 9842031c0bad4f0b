#pragma once
// Every CUDA call goes through here: what failed, on what, and CUDA's word for it.

#include <string>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "ranks/device.h"

namespace shardlint::ranks {

inline void cuda(cudaError_t code, const char* what) {
  if (code != cudaSuccess) {
    throw Error(std::string(what) + ": " + cudaGetErrorName(code) + ": " +
                cudaGetErrorString(code));
  }
}

inline cudaStream_t stream_of(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native());
}

// The library by name, then where pip and CUDA's installer put it; null with why.
void* load_library(const char* name, const char* override_variable, std::string& path,
                   std::string& why);

}  // namespace shardlint::ranks
