#pragma once
// NCCL and cuBLASLt, loaded when first asked for. `why_not` says why one cannot be used.

#include <cstddef>
#include <string>

#include <cublasLt.h>

namespace shardlint::ranks {

// The part of NCCL's C interface that is used, declared here so that building needs no NCCL. The
// values have been the same since 2.10.
struct NcclId {
  char bytes[128];
};
using NcclComm = void*;
inline constexpr int nccl_float32 = 7, nccl_bfloat16 = 9;
inline constexpr int nccl_sum = 0, nccl_average = 4;
inline constexpr int nccl_success = 0, nccl_in_progress = 7;
inline constexpr int oldest_nccl = 21000;  // 2.10: the average

struct NcclLibrary {
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(NcclId*) = nullptr;
  int (*init_rank)(NcclComm*, int, NcclId, int) = nullptr;
  int (*destroy)(NcclComm) = nullptr;
  int (*abort)(NcclComm) = nullptr;
  int (*async_error)(NcclComm, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, NcclComm, void*) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclComm, void*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, NcclComm, void*) = nullptr;
  int version = 0;
  std::string version_text, path, why_not;
};
const NcclLibrary& nccl_library();

struct BlasLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  std::string version_text, path, why_not;
};
const BlasLibrary& blas_library();

}  // namespace shardlint::ranks
