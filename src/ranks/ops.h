#pragma once
// The kernels, as plain functions over device memory. Row-major; shapes in the comments:
// T tokens (= B sequences x S), H hidden, N heads, D = H / N, V vocabulary, F = 4 H.
// ops_cpu.cpp is the reference: loops, float accumulation in a fixed order, results rounded to the
// stored type once. ops_cuda.cu and friends must agree within the tolerances of tests/ranks_ops.
// No result depends on the order in which threads happen to run.

#include <cstdint>
#include <span>

#include "ranks/bf16.h"
#include "ranks/device.h"

namespace shardlint::ranks {

using Weights = std::span<const bf16>;

// Matrix products of a linear layer y = x w^T with w (O, I) as PyTorch stores it.
void linear(Stream& stream, std::span<bf16> y, std::span<const bf16> x, Weights w, int tokens,
            int out, int in);  // (T,O) = (T,I) (O,I)^T
void linear_grad_input(Stream& stream, std::span<bf16> dx, std::span<const bf16> dy, Weights w,
                       int tokens, int out, int in);  // (T,I) = (T,O) (O,I)
void linear_grad_weight(Stream& stream, std::span<float> dw, std::span<const bf16> dy,
                        std::span<const bf16> x, int tokens, int out, int in,
                        bool add);  // (O,I) (+)= (T,O)^T (T,I)

// x[t] = word[tokens[t]] + position[t % S]; (T,H)
void embed(Stream& stream, std::span<bf16> x, std::span<const std::int32_t> tokens, Weights word,
           Weights position, int sequence, int hidden);
// Which rows of dx belong to which token: made on the host, so that each gradient row has one
// writer that adds in order. `rows` lists positions grouped by token, group g being
// rows[starts[g] .. starts[g+1]) of token ids[g].
struct TokenGroups {
  std::span<const std::int32_t> rows, starts, ids;
};
// word (V,H) and position (S,H) gradients are added to.
void embed_grad(Stream& stream, std::span<float> dword, std::span<float> dposition,
                std::span<const bf16> dx, const TokenGroups& groups, int tokens, int sequence,
                int hidden);

// sum = x + y (skipped when y is empty: then sum is not written); out = layernorm(sum) w + b,
// epsilon 1e-5. statistics (T,2): mean and 1 / standard deviation.
void add_layernorm(Stream& stream, std::span<bf16> sum, std::span<bf16> out,
                   std::span<float> statistics, std::span<const bf16> x, std::span<const bf16> y,
                   Weights w, Weights b, int hidden);
// dx = residual + (gradient through the norm of dy); also writes the norm's output again, which
// the forward pass did not keep. dw, db (H) are added to. `partials` is scratch of
// layernorm_scratch(hidden) floats.
std::size_t layernorm_scratch(int hidden);
void layernorm_grad(Stream& stream, std::span<bf16> dx, std::span<bf16> out, std::span<float> dw,
                    std::span<float> db, std::span<float> partials, std::span<const bf16> dy,
                    std::span<const bf16> residual, std::span<const bf16> x,
                    std::span<const float> statistics, Weights w, Weights b, int hidden);

// GELU, tanh form.
void gelu(Stream& stream, std::span<bf16> y, std::span<const bf16> x);
// dx = dy * gelu'(x), may be in place of dy; y = gelu(x) again.
void gelu_grad(Stream& stream, std::span<bf16> dx, std::span<bf16> y, std::span<const bf16> dy,
               std::span<const bf16> x);

struct AttentionShape {
  int batch, sequence, heads, head_size;
};
// Causal attention; qkv (T, 3, N, D), out (T, N, D), logsumexp (B, N, S).
void attention(Stream& stream, std::span<bf16> out, std::span<float> logsumexp,
               std::span<const bf16> qkv, const AttentionShape& shape);
// delta (B, N, S) is scratch.
void attention_grad(Stream& stream, std::span<bf16> dqkv, std::span<float> delta,
                    std::span<const bf16> dout, std::span<const bf16> out,
                    std::span<const bf16> qkv, std::span<const float> logsumexp,
                    const AttentionShape& shape);

// losses[t] = -log softmax(logits[t])[targets[t]] in float; logits becomes its gradient times
// scale. (T,V)
void cross_entropy(Stream& stream, std::span<float> losses, std::span<bf16> logits,
                   std::span<const std::int32_t> targets, int vocab, float scale);

// Mixture of experts. router (T,E) logits; the k best by softmax, ties to the lower expert.
// probabilities (T,E); chosen (T,k).
void route(Stream& stream, std::span<float> probabilities, std::span<std::int32_t> chosen,
           std::span<const bf16> router, int experts, int top_k);
// x with the rows not sent to `expert` zeroed: out (T,H).
void select_rows(Stream& stream, std::span<bf16> out, std::span<const bf16> x,
                 std::span<const std::int32_t> chosen, int expert, int top_k, int hidden);
// sum (T,H) float (+)= probability of `expert` * y for the rows sent to it.
void combine_rows(Stream& stream, std::span<float> sum, std::span<const bf16> y,
                  std::span<const float> probabilities, std::span<const std::int32_t> chosen,
                  int expert, int experts, int top_k, int hidden, bool add);
// dy = probability * dsum for rows sent to expert, else 0; dprobability[t, expert] = <dsum, y> or
// 0.
void combine_grad(Stream& stream, std::span<bf16> dy, std::span<float> dprobabilities,
                  std::span<const float> dsum, std::span<const bf16> y,
                  std::span<const float> probabilities, std::span<const std::int32_t> chosen,
                  int expert, int experts, int top_k, int hidden);
// Gradient of the softmax of route: drouter (T,E).
void route_grad(Stream& stream, std::span<bf16> drouter, std::span<const float> dprobabilities,
                std::span<const float> probabilities, int experts);

// Elementwise.
void to_bf16(Stream& stream, std::span<bf16> out, std::span<const float> in);
void to_float(Stream& stream, std::span<float> out, std::span<const bf16> in);
void add(Stream& stream, std::span<float> into, std::span<const float> from);
void add(Stream& stream, std::span<bf16> into, std::span<const bf16> from);
void scale(Stream& stream, std::span<float> data, float factor);

struct AdamW {
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  int step;  // from 1
};
// gradient * *factor (device; empty = 1) enters; main, first and second moments are updated.
void adamw(Stream& stream, std::span<float> main, std::span<float> first, std::span<float> second,
           std::span<const float> gradient, std::span<const float> factor, const AdamW& options);

// out[0] = sum of data (or of squares), in a fixed order. scratch: reduction_scratch floats.
inline constexpr std::size_t reduction_scratch = 1024;
void sum(Stream& stream, std::span<float> out, std::span<float> scratch,
         std::span<const float> data);
void sum_squares(Stream& stream, std::span<float> out, std::span<float> scratch,
                 std::span<const float> data);
// factor[0] = min(1, limit / (sqrt(squares[0]) + 1e-6))
void clip_factor(Stream& stream, std::span<float> factor, std::span<const float> squares,
                 float limit);

// Weights and test patterns from (seed, stream, index), the same bits on every backend.
void fill_normal(Stream& stream, std::span<float> out, std::uint64_t seed, std::uint64_t first,
                 float deviation);
void fill_value(Stream& stream, std::span<float> out, float value);
// Small integers, so that sums over ranks are exact in float: see pattern_at in random.h.
void fill_pattern(Stream& stream, std::span<float> out, std::uint64_t seed, std::uint64_t rank,
                  std::uint64_t first);
// wrong[0] = how many data[i] differ from the sum of patterns of ranks [rank, rank + ranks).
void check_pattern(Stream& stream, std::span<float> wrong, std::span<float> scratch,
                   std::span<const float> data, std::uint64_t seed, std::uint64_t rank, int ranks,
                   std::uint64_t first);
// A digest of the bits, independent of the order in which threads run: added to hash[0].
void hash_bits(Stream& stream, std::span<std::uint64_t> hash, std::span<const std::uint32_t> data,
               std::uint64_t first);

}  // namespace shardlint::ranks
