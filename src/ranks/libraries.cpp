#include "ranks/libraries.h"

#include <dlfcn.h>

#include "ranks/cuda_call.h"

namespace shardlint::ranks {

namespace {

template <typename F>
void find(void* library, const char* name, F& into, std::string& why_not, const std::string& path) {
  into = reinterpret_cast<F>(::dlsym(library, name));
  if (into == nullptr && why_not.empty()) {
    why_not = path + " has no " + name;
  }
}

NcclLibrary load_nccl() {
  NcclLibrary n;
  std::string why;
  void* library = load_library("libnccl.so.2", "SHARDLINT_NCCL", n.path, why);
  if (library == nullptr) {
    n.why_not = "NCCL (libnccl.so.2) cannot be loaded: " + why +
                "; set LD_LIBRARY_PATH, or SHARDLINT_NCCL to the file";
    return n;
  }
  find(library, "ncclGetVersion", n.get_version, n.why_not, n.path);
  find(library, "ncclGetUniqueId", n.get_unique_id, n.why_not, n.path);
  find(library, "ncclCommInitRank", n.init_rank, n.why_not, n.path);
  find(library, "ncclCommDestroy", n.destroy, n.why_not, n.path);
  find(library, "ncclCommAbort", n.abort, n.why_not, n.path);
  find(library, "ncclCommGetAsyncError", n.async_error, n.why_not, n.path);
  find(library, "ncclGetErrorString", n.error_string, n.why_not, n.path);
  find(library, "ncclAllGather", n.all_gather, n.why_not, n.path);
  find(library, "ncclReduceScatter", n.reduce_scatter, n.why_not, n.path);
  find(library, "ncclAllReduce", n.all_reduce, n.why_not, n.path);
  if (n.why_not.empty()) {
    n.get_version(&n.version);
    n.version_text = std::to_string(n.version / 10000) + "." +
                     std::to_string(n.version / 100 % 100) + "." + std::to_string(n.version % 100);
    if (n.version < oldest_nccl) {
      n.why_not =
          "NCCL " + n.version_text + " at " + n.path + " is too old: 2.10 or later is needed";
    }
  }
  return n;
}

BlasLibrary load_blas() {
  BlasLibrary b;
  std::string why;
  constexpr const char* names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  void* library = nullptr;
  for (const char* name : names) {
    if (library == nullptr) {
      library = load_library(name, "SHARDLINT_CUBLASLT", b.path, why);
    }
  }
  if (library == nullptr) {
    b.why_not = "cuBLASLt (libcublasLt.so.13 or .12) cannot be loaded: " + why +
                "; set LD_LIBRARY_PATH, or SHARDLINT_CUBLASLT to the file";
    return b;
  }
  find(library, "cublasLtCreate", b.create, b.why_not, b.path);
  find(library, "cublasLtDestroy", b.destroy, b.why_not, b.path);
  find(library, "cublasLtGetVersion", b.get_version, b.why_not, b.path);
  find(library, "cublasLtMatmul", b.matmul, b.why_not, b.path);
  find(library, "cublasLtMatmulDescCreate", b.desc_create, b.why_not, b.path);
  find(library, "cublasLtMatmulDescDestroy", b.desc_destroy, b.why_not, b.path);
  find(library, "cublasLtMatmulDescSetAttribute", b.desc_set, b.why_not, b.path);
  find(library, "cublasLtMatrixLayoutCreate", b.layout_create, b.why_not, b.path);
  find(library, "cublasLtMatrixLayoutDestroy", b.layout_destroy, b.why_not, b.path);
  find(library, "cublasLtMatmulPreferenceCreate", b.preference_create, b.why_not, b.path);
  find(library, "cublasLtMatmulPreferenceDestroy", b.preference_destroy, b.why_not, b.path);
  find(library, "cublasLtMatmulPreferenceSetAttribute", b.preference_set, b.why_not, b.path);
  find(library, "cublasLtMatmulAlgoGetHeuristic", b.heuristic, b.why_not, b.path);
  if (b.why_not.empty()) {
    const std::size_t version = b.get_version();
    b.version_text = std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                     "." + std::to_string(version % 100);
  }
  return b;
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = load_nccl();
  return library;
}

const BlasLibrary& blas_library() {
  static const BlasLibrary library = load_blas();
  return library;
}

}  // namespace shardlint::ranks
