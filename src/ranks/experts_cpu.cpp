// Routing to experts: the reference.

#include <algorithm>
#include <cmath>
#include <vector>

#include "ranks/ops.h"

namespace shardlint::ranks::inline SHARDLINT_OPS {

namespace {

bool sent_to(std::span<const std::int32_t> chosen, std::size_t token, int expert, int top_k) {
  for (int k = 0; k < top_k; ++k) {
    if (chosen[token * static_cast<std::size_t>(top_k) + static_cast<std::size_t>(k)] == expert) {
      return true;
    }
  }
  return false;
}

}  // namespace

void route(Stream&, std::span<float> probabilities, std::span<std::int32_t> chosen,
           std::span<const bf16> router, int experts, int top_k) {
  const std::size_t width = static_cast<std::size_t>(experts);
  for (std::size_t t = 0; t * width < router.size(); ++t) {
    float largest = -INFINITY, total = 0;
    for (std::size_t e = 0; e < width; ++e) {
      largest = std::max(largest, to_float(router[t * width + e]));
    }
    for (std::size_t e = 0; e < width; ++e) {
      total += probabilities[t * width + e] = std::exp(to_float(router[t * width + e]) - largest);
    }
    for (std::size_t e = 0; e < width; ++e) {
      probabilities[t * width + e] /= total;
    }
    int first = -1;
    for (int k = 0; k < top_k; ++k) {
      int best = -1;
      for (int e = 0; e < experts; ++e) {
        const auto value = [&](int i) {
          return to_float(router[t * width + static_cast<std::size_t>(i)]);
        };
        if (e != first && (best < 0 || value(e) > value(best))) {
          best = e;
        }
      }
      chosen[t * static_cast<std::size_t>(top_k) + static_cast<std::size_t>(k)] = best;
      first = best;
    }
  }
}

void select_rows(Stream&, std::span<bf16> out, std::span<const bf16> x,
                 std::span<const std::int32_t> chosen, int expert, int top_k, int hidden) {
  const std::size_t width = static_cast<std::size_t>(hidden);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = sent_to(chosen, i / width, expert, top_k) ? x[i] : bf16{};
  }
}

void combine_rows(Stream&, std::span<float> sum, std::span<const bf16> y,
                  std::span<const float> probabilities, std::span<const std::int32_t> chosen,
                  int expert, int experts, int top_k, int hidden, bool add) {
  const std::size_t width = static_cast<std::size_t>(hidden);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t t = i / width;
    const float weight = !sent_to(chosen, t, expert, top_k) ? 0.0f
                         : probabilities.empty()
                             ? 1.0f
                             : probabilities[t * static_cast<std::size_t>(experts) +
                                             static_cast<std::size_t>(expert)];
    const float value = weight == 0 ? 0 : weight * to_float(y[i]);
    sum[i] = add ? sum[i] + value : value;
  }
}

void combine_grad(Stream&, std::span<bf16> dy, std::span<float> dprobabilities,
                  std::span<const float> dsum, std::span<const bf16> y,
                  std::span<const float> probabilities, std::span<const std::int32_t> chosen,
                  int expert, int experts, int top_k, int hidden) {
  const std::size_t width = static_cast<std::size_t>(hidden);
  for (std::size_t t = 0; t * width < dy.size(); ++t) {
    const bool sent = sent_to(chosen, t, expert, top_k);
    const std::size_t score =
        t * static_cast<std::size_t>(experts) + static_cast<std::size_t>(expert);
    float total = 0;
    for (std::size_t i = t * width; i < (t + 1) * width; ++i) {
      total += dsum[i] * to_float(y[i]);
      dy[i] = sent ? to_bf16(dsum[i] * probabilities[score]) : bf16{};
    }
    dprobabilities[score] = sent ? total : 0.0f;
  }
}

void route_grad(Stream&, std::span<bf16> drouter, std::span<const float> dprobabilities,
                std::span<const float> probabilities, int experts) {
  const std::size_t width = static_cast<std::size_t>(experts);
  for (std::size_t t = 0; t * width < drouter.size(); ++t) {
    float mean = 0;
    for (std::size_t e = t * width; e < (t + 1) * width; ++e) {
      mean += probabilities[e] * dprobabilities[e];
    }
    for (std::size_t e = t * width; e < (t + 1) * width; ++e) {
      drouter[e] = to_bf16(probabilities[e] * (dprobabilities[e] - mean));
    }
  }
}

}  // namespace shardlint::ranks::inline SHARDLINT_OPS
