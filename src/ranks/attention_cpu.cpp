// Causal attention, written as its definition. Probabilities are rounded to bf16 before they meet
// the values, as the tensor cores need them; the sums that normalise them are not.

#include <cmath>
#include <vector>

#include "ranks/ops.h"

namespace shardlint::ranks::inline SHARDLINT_OPS {

namespace {

// One head of one sequence, as float: q, k, v (S, D).
struct Head {
  std::vector<float> q, k, v;
};

struct Indexer {
  AttentionShape shape;
  std::size_t token(int b, int s) const { return static_cast<std::size_t>(b * shape.sequence + s); }
  // In qkv (T, 3, N, D).
  std::size_t qkv(int b, int s, int which, int n) const {
    return ((token(b, s) * 3 + static_cast<std::size_t>(which)) *
                static_cast<std::size_t>(shape.heads) +
            static_cast<std::size_t>(n)) *
           static_cast<std::size_t>(shape.head_size);
  }
  // In out (T, N, D).
  std::size_t out(int b, int s, int n) const {
    return (token(b, s) * static_cast<std::size_t>(shape.heads) + static_cast<std::size_t>(n)) *
           static_cast<std::size_t>(shape.head_size);
  }
  // In logsumexp (B, N, S).
  std::size_t row(int b, int s, int n) const {
    return static_cast<std::size_t>((b * shape.heads + n) * shape.sequence + s);
  }
};

Head read_head(std::span<const bf16> qkv, const Indexer& index, int b, int n) {
  const int d = index.shape.head_size;
  Head head;
  for (auto [into, which] : {std::pair{&head.q, 0}, {&head.k, 1}, {&head.v, 2}}) {
    for (int s = 0; s < index.shape.sequence; ++s) {
      const std::size_t from = index.qkv(b, s, which, n);
      for (int i = 0; i < d; ++i) {
        into->push_back(to_float(qkv[from + static_cast<std::size_t>(i)]));
      }
    }
  }
  return head;
}

float dot(const float* a, const float* b, int n) {
  float total = 0;
  for (int i = 0; i < n; ++i) {
    total += a[i] * b[i];
  }
  return total;
}

}  // namespace

void attention(Stream&, std::span<bf16> out, std::span<float> logsumexp, std::span<const bf16> qkv,
               const AttentionShape& shape) {
  const Indexer index{shape};
  const int d = shape.head_size, length = shape.sequence;
  const float factor = 1.0f / std::sqrt(static_cast<float>(d));
  std::vector<float> scores(static_cast<std::size_t>(length)), sum(static_cast<std::size_t>(d));
  for (int b = 0; b < shape.batch; ++b) {
    for (int n = 0; n < shape.heads; ++n) {
      const Head head = read_head(qkv, index, b, n);
      for (int s = 0; s < length; ++s) {
        float largest = -INFINITY, total = 0;
        for (int j = 0; j <= s; ++j) {
          scores[static_cast<std::size_t>(j)] = dot(&head.q[static_cast<std::size_t>(s * d)],
                                                    &head.k[static_cast<std::size_t>(j * d)], d) *
                                                factor;
          largest = std::max(largest, scores[static_cast<std::size_t>(j)]);
        }
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (int j = 0; j <= s; ++j) {
          const float p = std::exp(scores[static_cast<std::size_t>(j)] - largest);
          total += p;
          const float rounded = to_float(to_bf16(p));
          for (int i = 0; i < d; ++i) {
            sum[static_cast<std::size_t>(i)] +=
                rounded * head.v[static_cast<std::size_t>(j * d + i)];
          }
        }
        for (int i = 0; i < d; ++i) {
          out[index.out(b, s, n) + static_cast<std::size_t>(i)] =
              to_bf16(sum[static_cast<std::size_t>(i)] / total);
        }
        logsumexp[index.row(b, s, n)] = largest + std::log(total);
      }
    }
  }
}

void attention_grad(Stream&, std::span<bf16> dqkv, std::span<float> delta,
                    std::span<const bf16> dout, std::span<const bf16> out,
                    std::span<const bf16> qkv, std::span<const float> logsumexp,
                    const AttentionShape& shape) {
  const Indexer index{shape};
  const int d = shape.head_size, length = shape.sequence;
  const float factor = 1.0f / std::sqrt(static_cast<float>(d));
  const auto cell = [d](int s, int i) { return static_cast<std::size_t>(s * d + i); };
  for (int b = 0; b < shape.batch; ++b) {
    for (int n = 0; n < shape.heads; ++n) {
      const Head head = read_head(qkv, index, b, n);
      const std::size_t count = static_cast<std::size_t>(length * d);
      std::vector<float> dq(count, 0.0f), dk(count, 0.0f), dv(count, 0.0f), go(count);
      for (int s = 0; s < length; ++s) {
        float total = 0;
        for (int i = 0; i < d; ++i) {
          const std::size_t from = index.out(b, s, n) + static_cast<std::size_t>(i);
          go[cell(s, i)] = to_float(dout[from]);
          total += go[cell(s, i)] * to_float(out[from]);
        }
        delta[index.row(b, s, n)] = total;
      }
      for (int s = 0; s < length; ++s) {
        for (int j = 0; j <= s; ++j) {
          const float score = dot(&head.q[cell(s, 0)], &head.k[cell(j, 0)], d) * factor;
          const float p = std::exp(score - logsumexp[index.row(b, s, n)]);
          const float dp = dot(&go[cell(s, 0)], &head.v[cell(j, 0)], d);
          const float ds = to_float(to_bf16(p * (dp - delta[index.row(b, s, n)])));
          const float rounded = to_float(to_bf16(p));
          for (int i = 0; i < d; ++i) {
            dv[cell(j, i)] += rounded * go[cell(s, i)];
            dk[cell(j, i)] += ds * head.q[cell(s, i)];
            dq[cell(s, i)] += ds * head.k[cell(j, i)];
          }
        }
      }
      for (int s = 0; s < length; ++s) {
        for (int i = 0; i < d; ++i) {
          const std::size_t column = static_cast<std::size_t>(i);
          dqkv[index.qkv(b, s, 0, n) + column] = to_bf16(dq[cell(s, i)] * factor);
          dqkv[index.qkv(b, s, 1, n) + column] = to_bf16(dk[cell(s, i)] * factor);
          dqkv[index.qkv(b, s, 2, n) + column] = to_bf16(dv[cell(s, i)]);
        }
      }
    }
  }
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
