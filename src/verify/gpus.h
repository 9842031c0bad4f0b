#pragma once
// The GPUs of this machine, asked of the driver's own libraries, which are looked up at run time.

#include <cstdint>
#include <string>
#include <vector>

namespace shardlint::verify {

struct Gpu {
  std::string name, pci;
  int major = 0, minor = 0;           // compute capability
  std::uint64_t total = 0, free = 0;  // bytes; free 0 with total 0: not known
  bool ecc = false;
  std::uint64_t uncorrected_errors = 0;  // since the driver was loaded
  bool exclusive = false, mig = false;   // compute mode other than default; partitioned
  int processes = -1;                    // that compute on it now; -1: not known
};

struct Gpus {
  std::string library;  // which one answered; empty: none is there
  std::string problem;  // why it could not answer
  std::string driver;   // 580.95.05
  int cuda = 0;         // newest CUDA of the driver: 13000
  std::vector<Gpu> all;
  bool peer_access = true;   // between every pair, as far as the driver says
  std::vector<int> visible;  // ordinals that CUDA_VISIBLE_DEVICES leaves
};
Gpus find_gpus();

// "sm_90"-like: 9.0
std::string capability(const Gpu& gpu);

// A shared library with a version function: NCCL, cuBLASLt.
struct Library {
  std::string path;  // as it was found; empty: it was not
  long version = 0;
};
Library find_nccl(const std::vector<std::string>& site_packages);
Library find_cublaslt(const std::vector<std::string>& site_packages);
std::string nccl_version_text(long version);  // 22809 -> 2.28.9

}  // namespace shardlint::verify
