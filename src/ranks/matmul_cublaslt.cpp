// Matrix products through cuBLASLt. An algorithm is chosen once a shape, thread and device, and
// kept, so that a product gives the same bits every time.

#include <map>
#include <tuple>

#include "base/error.h"
#include "ranks/buffer.h"
#include "ranks/cuda_call.h"
#include "ranks/libraries.h"
#include "ranks/ops.h"

namespace shardlint::ranks::inline SHARDLINT_OPS {

namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

void blas(cublasStatus_t code, const char* what) {
  if (code != CUBLAS_STATUS_SUCCESS) {
    throw Error(std::string("cuBLASLt ") + what + ": status " + std::to_string(code));
  }
}

// C (m x n, column-major, ld m) = op(A) op(B) (+ C), as cuBLAS sees it. A row-major matrix (r, c)
// is the column-major matrix (c, r): see the three callers.
struct Product {
  bool transpose_a, transpose_b;
  int m, n, k;
  bool float_result, add;
  auto operator<=>(const Product&) const = default;
};

class Plan {
 public:
  Plan(cublasLtHandle_t handle, const Product& p) : handle_(handle) {
    const BlasLibrary& lib = blas_library();
    blas(lib.desc_create(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
    const cublasOperation_t a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    blas(lib.desc_set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a), "describe A");
    blas(lib.desc_set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b), "describe B");
    const auto layout = [&](cublasLtMatrixLayout_t& into, cudaDataType type, int rows,
                            int columns) {
      blas(lib.layout_create(&into, type, static_cast<std::uint64_t>(rows),
                             static_cast<std::uint64_t>(columns), rows),
           "describe a matrix");
    };
    layout(a_, CUDA_R_16BF, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k);
    layout(b_, CUDA_R_16BF, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
    layout(c_, p.float_result ? CUDA_R_32F : CUDA_R_16BF, p.m, p.n);
    cublasLtMatmulPreference_t preference = nullptr;
    blas(lib.preference_create(&preference), "make preferences");
    blas(lib.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                            sizeof workspace_bytes),
         "limit the workspace");
    int found = 0;
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t code =
        lib.heuristic(handle, operation_, a_, b_, c_, c_, preference, 1, &result, &found);
    lib.preference_destroy(preference);
    if (code != CUBLAS_STATUS_SUCCESS || found == 0) {
      throw Error("cuBLASLt has no algorithm for a product of " + std::to_string(p.m) + " x " +
                  std::to_string(p.n) + " x " + std::to_string(p.k));
    }
    algorithm_ = result.algo;
    beta_ = p.add ? 1.0f : 0.0f;
  }
  ~Plan() {
    const BlasLibrary& lib = blas_library();
    lib.layout_destroy(a_);
    lib.layout_destroy(b_);
    lib.layout_destroy(c_);
    lib.desc_destroy(operation_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void run(Stream& stream, const bf16* a, const bf16* b, void* c, void* workspace) const {
    const float alpha = 1.0f;
    blas(blas_library().matmul(handle_, operation_, &alpha, a, a_, b, b_, &beta_, c, c_, c, c_,
                               &algorithm_, workspace, workspace_bytes, stream_of(stream)),
         "multiply");
  }

 private:
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  float beta_ = 0;
};

// One a thread: a rank is a thread on one device, and its products run on one stream.
struct Blas {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::map<Product, Plan> plans;
  Blas() {
    blas(blas_library().create(&handle), "start");
    cuda(cudaMalloc(&workspace, workspace_bytes), "allocate cuBLASLt's workspace");
  }
  ~Blas() {
    plans.clear();
    cudaFree(workspace);
    blas_library().destroy(handle);
  }
};

void multiply(Stream& stream, const Product& product, const bf16* a, const bf16* b, void* c) {
  thread_local Blas state;
  const auto found = state.plans.try_emplace(product, state.handle, product).first;
  found->second.run(stream, a, b, c, state.workspace);
}

std::size_t cells(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

}  // namespace

void linear(Stream& stream, std::span<bf16> y, std::span<const bf16> x, Weights w, int tokens,
            int out, int in) {
  ensure(
      y.size() >= cells(tokens, out) && x.size() >= cells(tokens, in) && w.size() == cells(out, in),
      "linear shapes");
  multiply(stream, {true, false, out, tokens, in, false, false}, w.data(), x.data(), y.data());
}

void linear_grad_input(Stream& stream, std::span<bf16> dx, std::span<const bf16> dy, Weights w,
                       int tokens, int out, int in) {
  ensure(dx.size() >= cells(tokens, in) && dy.size() >= cells(tokens, out) &&
             w.size() == cells(out, in),
         "linear_grad_input shapes");
  multiply(stream, {false, false, in, tokens, out, false, false}, w.data(), dy.data(), dx.data());
}

void linear_grad_weight(Stream& stream, std::span<float> dw, std::span<const bf16> dy,
                        std::span<const bf16> x, int tokens, int out, int in, bool add) {
  ensure(dw.size() == cells(out, in) && dy.size() >= cells(tokens, out) &&
             x.size() >= cells(tokens, in),
         "linear_grad_weight shapes");
  multiply(stream, {false, true, in, out, tokens, true, add}, x.data(), dy.data(), dw.data());
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
