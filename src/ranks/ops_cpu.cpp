// The reference: plain loops, written to be obviously right; only the matrix products are
// arranged for speed, because CI runs them.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "ranks/ops.h"
#include "ranks/random.h"

namespace shardlint::ranks::inline SHARDLINT_OPS {

namespace {

std::size_t at(int row, int width) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
}

std::vector<float> widen(std::span<const bf16> in) {
  std::vector<float> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    out[i] = to_float(in[i]);
  }
  return out;
}

// (rows, columns) of bf16 as float, transposed.
std::vector<float> transposed(std::span<const bf16> in, int rows, int columns) {
  std::vector<float> out(in.size());
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      out[at(c, rows) + static_cast<std::size_t>(r)] =
          to_float(in[at(r, columns) + static_cast<std::size_t>(c)]);
    }
  }
  return out;
}

// c (m,n) = a (m,k) b (k,n), in the order of k: rows of b are added, which vectorises.
void product(float* c, const float* a, const float* b, int m, int n, int k) {
  for (int i = 0; i < m; ++i) {
    float* row = c + at(i, n);
    std::fill(row, row + n, 0.0f);
    for (int p = 0; p < k; ++p) {
      const float factor = a[at(i, k) + static_cast<std::size_t>(p)];
      const float* other = b + at(p, n);
      for (int j = 0; j < n; ++j) {
        row[j] += factor * other[j];
      }
    }
  }
}

void narrow(std::span<bf16> out, const std::vector<float>& in) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = to_bf16(in[i]);
  }
}

constexpr float gelu_a = 0.7978845608028654f, gelu_b = 0.044715f;

float gelu_of(float x) {
  return 0.5f * x * (1.0f + std::tanh(gelu_a * (x + gelu_b * x * x * x)));
}

float gelu_slope(float x) {
  const float t = std::tanh(gelu_a * (x + gelu_b * x * x * x));
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * gelu_a * (1.0f + 3.0f * gelu_b * x * x);
}

}  // namespace

void linear(Stream&, std::span<bf16> y, std::span<const bf16> x, Weights w, int tokens, int out,
            int in) {
  ensure(y.size() >= at(tokens, out) && x.size() >= at(tokens, in) && w.size() == at(out, in),
         "linear shapes");
  std::vector<float> result(at(tokens, out));
  product(result.data(), widen(x.first(at(tokens, in))).data(), transposed(w, out, in).data(),
          tokens, out, in);
  narrow(y.first(at(tokens, out)), result);
}

void linear_grad_input(Stream&, std::span<bf16> dx, std::span<const bf16> dy, Weights w, int tokens,
                       int out, int in) {
  ensure(dx.size() >= at(tokens, in) && dy.size() >= at(tokens, out) && w.size() == at(out, in),
         "linear_grad_input shapes");
  std::vector<float> result(at(tokens, in));
  product(result.data(), widen(dy.first(at(tokens, out))).data(), widen(w).data(), tokens, in, out);
  narrow(dx.first(at(tokens, in)), result);
}

void linear_grad_weight(Stream&, std::span<float> dw, std::span<const bf16> dy,
                        std::span<const bf16> x, int tokens, int out, int in, bool add) {
  ensure(dw.size() == at(out, in) && dy.size() >= at(tokens, out) && x.size() >= at(tokens, in),
         "linear_grad_weight shapes");
  std::vector<float> result(at(out, in));
  product(result.data(), transposed(dy.first(at(tokens, out)), tokens, out).data(),
          widen(x.first(at(tokens, in))).data(), out, in, tokens);
  for (std::size_t i = 0; i < dw.size(); ++i) {
    dw[i] = add ? dw[i] + result[i] : result[i];
  }
}

void embed(Stream&, std::span<bf16> x, std::span<const std::int32_t> tokens, Weights word,
           Weights position, int sequence, int hidden) {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const int p = static_cast<int>(t) % sequence;
    for (int h = 0; h < hidden; ++h) {
      const auto column = static_cast<std::size_t>(h);
      x[at(static_cast<int>(t), hidden) + column] =
          to_bf16(to_float(word[at(tokens[t], hidden) + column]) +
                  to_float(position[at(p, hidden) + column]));
    }
  }
}

void embed_grad(Stream&, std::span<float> dword, std::span<float> dposition,
                std::span<const bf16> dx, const TokenGroups& groups, int tokens, int sequence,
                int hidden) {
  for (std::size_t g = 0; g < groups.ids.size(); ++g) {
    for (int h = 0; h < hidden; ++h) {
      float total = 0;
      for (int r = groups.starts[g]; r < groups.starts[g + 1]; ++r) {
        total += to_float(
            dx[at(groups.rows[static_cast<std::size_t>(r)], hidden) + static_cast<std::size_t>(h)]);
      }
      dword[at(groups.ids[g], hidden) + static_cast<std::size_t>(h)] += total;
    }
  }
  for (int s = 0; s < sequence; ++s) {
    for (int h = 0; h < hidden; ++h) {
      float total = 0;
      for (int t = s; t < tokens; t += sequence) {
        total += to_float(dx[at(t, hidden) + static_cast<std::size_t>(h)]);
      }
      dposition[at(s, hidden) + static_cast<std::size_t>(h)] += total;
    }
  }
}

void add_layernorm(Stream&, std::span<bf16> sum, std::span<bf16> out, std::span<float> statistics,
                   std::span<const bf16> x, std::span<const bf16> y, Weights w, Weights b,
                   int hidden) {
  const std::size_t width = static_cast<std::size_t>(hidden);
  std::vector<float> row(width);
  for (std::size_t t = 0; t * width < out.size(); ++t) {
    float mean = 0;
    for (std::size_t h = 0; h < width; ++h) {
      const std::size_t i = t * width + h;
      row[h] = to_float(x[i]);
      if (!y.empty()) {
        sum[i] = to_bf16(row[h] + to_float(y[i]));
        row[h] = to_float(sum[i]);
      }
      mean += row[h];
    }
    mean /= static_cast<float>(hidden);
    float variance = 0;
    for (const float value : row) {
      variance += (value - mean) * (value - mean);
    }
    const float inverse = 1.0f / std::sqrt(variance / static_cast<float>(hidden) + 1e-5f);
    statistics[2 * t] = mean;
    statistics[2 * t + 1] = inverse;
    for (std::size_t h = 0; h < width; ++h) {
      out[t * width + h] = to_bf16((row[h] - mean) * inverse * to_float(w[h]) + to_float(b[h]));
    }
  }
}

std::size_t layernorm_scratch(int) {
  return 1;
}

void layernorm_grad(Stream&, std::span<bf16> dx, std::span<bf16> out, std::span<float> dw,
                    std::span<float> db, std::span<float>, std::span<const bf16> dy,
                    std::span<const bf16> residual, std::span<const bf16> x,
                    std::span<const float> statistics, Weights w, Weights b, int hidden) {
  const std::size_t width = static_cast<std::size_t>(hidden);
  std::vector<float> more_w(width, 0.0f), more_b(width, 0.0f);
  for (std::size_t t = 0; t * width < dx.size(); ++t) {
    const float mean = statistics[2 * t], inverse = statistics[2 * t + 1];
    float sum_g = 0, sum_gn = 0;
    for (std::size_t h = 0; h < width; ++h) {
      const std::size_t i = t * width + h;
      const float normal = (to_float(x[i]) - mean) * inverse;
      const float g = to_float(dy[i]) * to_float(w[h]);
      sum_g += g;
      sum_gn += g * normal;
      more_w[h] += to_float(dy[i]) * normal;
      more_b[h] += to_float(dy[i]);
    }
    for (std::size_t h = 0; h < width; ++h) {
      const std::size_t i = t * width + h;
      const float normal = (to_float(x[i]) - mean) * inverse;
      const float g = to_float(dy[i]) * to_float(w[h]);
      const float through = inverse * (g - (sum_g + normal * sum_gn) / static_cast<float>(hidden));
      out[i] = to_bf16(normal * to_float(w[h]) + to_float(b[h]));
      dx[i] = to_bf16((residual.empty() ? 0.0f : to_float(residual[i])) + through);
    }
  }
  for (std::size_t h = 0; h < width; ++h) {
    dw[h] += more_w[h];
    db[h] += more_b[h];
  }
}

void gelu(Stream&, std::span<bf16> y, std::span<const bf16> x) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = to_bf16(gelu_of(to_float(x[i])));
  }
}

void gelu_grad(Stream&, std::span<bf16> dx, std::span<bf16> y, std::span<const bf16> dy,
               std::span<const bf16> x) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float value = to_float(x[i]);
    dx[i] = to_bf16(to_float(dy[i]) * gelu_slope(value));
    y[i] = to_bf16(gelu_of(value));
  }
}

void cross_entropy(Stream&, std::span<float> losses, std::span<bf16> logits,
                   std::span<const std::int32_t> targets, int vocab, float scale) {
  const std::size_t width = static_cast<std::size_t>(vocab);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const std::span<bf16> row = logits.subspan(t * width, width);
    float largest = -INFINITY, total = 0;
    for (const bf16 value : row) {
      largest = std::max(largest, to_float(value));
    }
    for (const bf16 value : row) {
      total += std::exp(to_float(value) - largest);
    }
    const std::size_t target = static_cast<std::size_t>(targets[t]);
    losses[t] = std::log(total) + largest - to_float(row[target]);
    for (std::size_t v = 0; v < width; ++v) {
      const float p = std::exp(to_float(row[v]) - largest) / total;
      row[v] = to_bf16((p - (v == target ? 1.0f : 0.0f)) * scale);
    }
  }
}

void round_to_bf16(Stream&, std::span<bf16> out, std::span<const float> in) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = to_bf16(in[i]);
  }
}

void widen_to_float(Stream&, std::span<float> out, std::span<const bf16> in) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = to_float(in[i]);
  }
}

void add(Stream&, std::span<float> into, std::span<const float> from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] += from[i];
  }
}

void add(Stream&, std::span<bf16> into, std::span<const bf16> from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = to_bf16(to_float(into[i]) + to_float(from[i]));
  }
}

void scale(Stream&, std::span<float> data, float factor) {
  for (float& value : data) {
    value *= factor;
  }
}

void adamw(Stream&, std::span<float> main, std::span<float> first, std::span<float> second,
           std::span<const float> gradient, std::span<const float> factor, const AdamW& o) {
  const float f = factor.empty() ? 1.0f : factor[0];
  const float c1 = 1.0f - std::pow(o.beta1, static_cast<float>(o.step));
  const float c2 = 1.0f - std::pow(o.beta2, static_cast<float>(o.step));
  for (std::size_t i = 0; i < main.size(); ++i) {
    const float g = gradient[i] * f;
    first[i] = o.beta1 * first[i] + (1.0f - o.beta1) * g;
    second[i] = o.beta2 * second[i] + (1.0f - o.beta2) * g * g;
    const float denominator = std::sqrt(second[i] / c2) + o.epsilon;
    main[i] = main[i] * (1.0f - o.learning_rate * o.weight_decay) -
              o.learning_rate * (first[i] / c1) / denominator;
  }
}

void sum(Stream&, std::span<float> out, std::span<float>, std::span<const float> data) {
  double total = 0;
  for (const float value : data) {
    total += static_cast<double>(value);
  }
  out[0] = static_cast<float>(total);
}

void sum_squares(Stream&, std::span<float> out, std::span<float>, std::span<const float> data) {
  double total = 0;
  for (const float value : data) {
    total += static_cast<double>(value) * static_cast<double>(value);
  }
  out[0] = static_cast<float>(total);
}

void clip_factor(Stream&, std::span<float> factor, std::span<const float> squares, float limit) {
  factor[0] = std::min(1.0f, limit / (std::sqrt(squares[0]) + 1e-6f));
}

void fill_normal(Stream&, std::span<float> out, std::uint64_t seed, std::uint64_t first,
                 float deviation) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = normal_at(seed, first + i) * deviation;
  }
}

void fill_value(Stream&, std::span<float> out, float value) {
  std::fill(out.begin(), out.end(), value);
}

void fill_pattern(Stream&, std::span<float> out, std::uint64_t seed, std::uint64_t rank,
                  std::uint64_t first) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = pattern_at(seed, rank, first + i);
  }
}

void check_pattern(Stream&, std::span<float> wrong, std::span<float>, std::span<const float> data,
                   std::uint64_t seed, std::uint64_t rank, int ranks, std::uint64_t first) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    float expected = 0;
    for (int r = 0; r < ranks; ++r) {
      expected += pattern_at(seed, rank + static_cast<std::uint64_t>(r), first + i);
    }
    count += data[i] != expected;
  }
  wrong[0] = static_cast<float>(count);
}

void hash_bits(Stream&, std::span<std::uint64_t> hash, std::span<const std::uint32_t> data,
               std::uint64_t first) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    total += mix(mix(first + i) ^ data[i]);
  }
  hash[0] += total;
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
