#pragma once
// The decoder: forward and backward of one micro-batch. Pre-norm blocks as in GPT-2 without
// linear biases: x += proj(attention(qkv(norm(x)))); x += down(gelu(up(norm(x)))); head on a last
// norm; mean cross-entropy. Residual stream and activations in bf16, loss and sums in float.
//
// Kept for backward, a layer: input, qkv, attention output, middle, up (10 T H values of bf16);
// norm and GELU outputs are written again by the backward kernels that read their inputs anyway.

#include <cstdint>
#include <span>
#include <vector>

#include "ranks/buffer.h"
#include "ranks/parameters.h"

namespace shardlint::ranks {

// One micro-batch on the host: inputs and targets (T), and the inputs grouped by token.
struct Batch {
  std::vector<std::int32_t> inputs, targets;
  std::vector<std::int32_t> rows, starts, ids;
};
Batch make_batch(std::span<const std::int32_t> tokens, int sequences, int sequence);

class Model {
 public:
  Model(const ModelSizes& sizes, int micro_batch, Parameters& parameters, const Groups& groups,
        Stream& compute);

  // Adds to loss[0] the mean loss of this micro-batch times `share`, and to the gradients the
  // gradient of that times `grad_share` / `share`.
  void forward_backward(const Batch& batch, std::span<float> loss, float share, float grad_share);

 private:
  struct Layer {
    std::span<bf16> input, qkv, attended, middle, up;
    std::span<float> statistics, logsumexp;  // (T, 4): both norms; (B, N, S)
  };
  void forward_layer(int i);
  void backward_layer(int i);
  void head(std::span<float> loss, float share, float grad_share);
  void experts_forward(std::span<const bf16> x);
  void experts_backward(std::span<bf16> dx, std::span<const bf16> dy);
  std::span<const bf16> tensor(std::size_t bucket, Weights weights, const char* suffix) const;
  std::span<float> tensor(std::size_t bucket, std::span<float> gradient, const char* suffix) const;
  void clear_floats(std::span<float> data);

  ModelSizes sizes_;
  int batch_, tokens_;
  Parameters& parameters_;
  Groups groups_;
  Stream& compute_;
  AttentionShape attention_;
  int logit_rows_;
  std::size_t wide_ = 0;  // T * H
  Buffer<bf16> saved_, scratch_;
  Buffer<float> saved_floats_, losses_, partials_, part_loss_, reduce_scratch_;
  Buffer<std::int32_t> inputs_, targets_, rows_, starts_, ids_;
  std::size_t groups_of_tokens_ = 0;
  std::vector<Layer> layers_;
  std::span<bf16> last_, final_, grad_, normed_, wide_a_, wide_b_;
  std::span<float> last_statistics_, delta_;
  // Mixture of experts: tokens of the whole expert group.
  struct Moe {
    Buffer<bf16> x, routed, up, act, y, dy, normed, router, drouter;
    Buffer<float> sum, probabilities, dprobabilities, dx;
    Buffer<std::int32_t> chosen;
    int first = 0, local = 0, tokens = 0;
  } moe_;
};

}  // namespace shardlint::ranks
