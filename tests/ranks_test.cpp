// The trainer's parts that can be held to something outside themselves: plans as text, layout
// arithmetic by table, and the reference ops against finite differences in double precision.

#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "ranks/layout.h"
#include "ranks/ops.h"
#include "ranks/plan.h"
#include "ranks/random.h"

using namespace shardlint;
using namespace shardlint::ranks;

TEST_SUITE_BEGIN("ranks");

TEST_CASE("plan: defaults, round trip, and every kind of refusal") {
  const Plan plan = parse_plan("{}");
  CHECK(plan.ranks == 2);
  CHECK(plan.checks.size() == 7);
  CHECK(to_json_text(parse_plan(to_json_text(plan))) == to_json_text(plan));

  struct Row {
    const char *text, *refusal;
  };
  for (const Row& row : {
           Row{"{", "not JSON"},
           {"[]", "expected an object"},
           {R"({"rank": 2})", "rank: unknown key"},
           {R"({"parallel": {"strateggy": "optim"}})", "parallel.strateggy: unknown key"},
           {R"({"parallel": {"strategy": "zero3"}})", "unknown strategy zero3"},
           {R"({"ranks": "2"})", "ranks: unexpected value"},
           {R"({"ranks": 0})", "expected 1 to 64"},
           {R"({"ranks": 99999999999})", "ranks: unexpected value"},
           {R"({"seed": -1})", "seed: unexpected value"},
           {R"({"model": {"hidden": 100}})", "model.hidden"},
           {R"({"model": {"heads": 3}})", "model.heads"},
           {R"({"model": {"sequence": 1000}})", "model.sequence"},
           {R"({"checks": ["parity", "luck"]})", "unknown check luck"},
           {R"({"faults": [{"kind": "meteor"}]})", "unknown fault meteor"},
           {R"({"collectives": {"sizes": [1]}})", "collectives.sizes"},
           {R"({"parallel": {"reduce_dtype": "fp8"}})", "reduce_dtype"},
       }) {
    CAPTURE(row.text);
    std::string said;
    try {
      parse_plan(row.text);
    } catch (const Error& error) {
      said = error.what();
    }
    CHECK_MESSAGE(said.find(row.refusal) != std::string::npos, said);
  }
}

TEST_CASE("layout: parts are equal and aligned, tensors do not overlap, names are unique") {
  for (const int parts : {1, 2, 3, 7, 64}) {
    ModelSizes sizes;
    sizes.experts = 4;
    const Layout layout = make_layout(sizes, parts, parts, 0, 4);
    std::set<std::string> names;
    for (const Bucket& bucket : layout.buckets) {
      CHECK(part_of(bucket.count, parts, parts - 1).end == bucket.count);
      CHECK(part_of(bucket.count, parts, 0).size() % 64 == 0);
      std::size_t end = 0;
      for (const Tensor& tensor : bucket.tensors) {
        CHECK(tensor.offset >= end);
        CHECK(tensor.offset % 64 == 0);
        end = tensor.offset + tensor.count;
        CHECK(names.insert(tensor.name).second);
      }
      CHECK(end <= bucket.count);
    }
  }
}

TEST_CASE("boxes of a range tile it, in order, each contiguous") {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{7}, {3, 5}, {2, 3, 4}, {1, 6}, {5, 1}}) {
    std::size_t all = 1;
    for (const std::int64_t length : shape) {
      all *= static_cast<std::size_t>(length);
    }
    for (std::size_t begin = 0; begin <= all; ++begin) {
      for (std::size_t end = begin; end <= all; ++end) {
        std::size_t at = begin;
        for (const Box& box : boxes_of(shape, begin, end)) {
          CHECK(box.first == at);
          std::size_t volume = 1, first = 0;
          for (std::size_t d = 0; d < shape.size(); ++d) {
            CHECK(box.offsets[d] + box.sizes[d] <= shape[d]);
            volume *= static_cast<std::size_t>(box.sizes[d]);
            first = first * static_cast<std::size_t>(shape[d]) +
                    static_cast<std::size_t>(box.offsets[d]);
          }
          CHECK(volume == box.count);
          CHECK(first == box.first);
          at += box.count;
        }
        CHECK(at == end);
        CHECK(boxes_of(shape, begin, end).size() <= 2 * shape.size() - 1);
      }
    }
  }
}

namespace {

std::vector<bf16> random_values(std::size_t count, std::uint64_t seed, float deviation = 1) {
  std::vector<bf16> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = to_bf16(normal_at(seed, i) * deviation);
  }
  return values;
}

double dot(const std::vector<double>& a, std::span<const bf16> b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    total += a[i] * static_cast<double>(to_float(b[i]));
  }
  return total;
}

// Compares analytic gradients of <function(x), dy> with central differences of a function written
// in double: the slope along 8 coordinates.
void check_slopes(const std::vector<bf16>& x, std::span<const bf16> dx,
                  const std::function<double(const std::vector<double>&)>& value, double limit) {
  std::vector<double> wide;
  for (const bf16 element : x) {
    wide.push_back(static_cast<double>(to_float(element)));
  }
  for (std::size_t i = 0; i < x.size(); i += x.size() / 8 + 1) {
    const double keep = wide[i], step = 1e-4;
    wide[i] = keep + step;
    const double up = value(wide);
    wide[i] = keep - step;
    const double down = value(wide);
    wide[i] = keep;
    const double slope = (up - down) / (2 * step);
    CHECK(std::abs(slope - static_cast<double>(to_float(dx[i]))) <= limit * (1 + std::abs(slope)));
  }
}

}  // namespace

// bf16 keeps 8 bits: a gradient rounded to it is off by up to 2^-9 of itself; probabilities rounded
// on the way add as much again.
constexpr double slope_limit = 1e-2;

TEST_CASE("layernorm gradient") {
  Stream stream;
  const int h = 64, rows = 3;
  const std::size_t wide = h * rows;
  const auto x = random_values(wide, 1), w = random_values(h, 2), b = random_values(h, 3),
             dy = random_values(wide, 4);
  std::vector<bf16> out(wide), dx(wide), again(wide);
  std::vector<float> statistics(2 * rows), dw(h, 0.0f), db(h, 0.0f);
  add_layernorm(stream, {}, out, statistics, x, {}, w, b, h);
  layernorm_grad(stream, dx, again, dw, db, {}, dy, {}, x, statistics, w, b, h);
  CHECK(again == out);
  check_slopes(
      x, dx,
      [&](const std::vector<double>& v) {
        double total = 0;
        for (int r = 0; r < rows; ++r) {
          double mean = 0, variance = 0;
          for (int i = 0; i < h; ++i) {
            mean += v[static_cast<std::size_t>(r * h + i)] / h;
          }
          for (int i = 0; i < h; ++i) {
            variance += std::pow(v[static_cast<std::size_t>(r * h + i)] - mean, 2) / h;
          }
          for (int i = 0; i < h; ++i) {
            const std::size_t at = static_cast<std::size_t>(r * h + i),
                              c = static_cast<std::size_t>(i);
            total +=
                static_cast<double>(to_float(dy[at])) *
                ((v[at] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(to_float(w[c])) +
                 static_cast<double>(to_float(b[c])));
          }
        }
        return total;
      },
      slope_limit);
}

TEST_CASE("gelu gradient") {
  Stream stream;
  const auto x = random_values(64, 1, 2), dy = random_values(64, 2);
  std::vector<bf16> dx(64), y(64);
  gelu_grad(stream, dx, y, dy, x);
  check_slopes(
      x, dx,
      [&](const std::vector<double>& v) {
        std::vector<double> out;
        for (const double a : v) {
          out.push_back(
              0.5 * a *
              (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (a + 0.044715 * a * a * a))));
        }
        return dot(out, dy);
      },
      slope_limit);
}

TEST_CASE("attention gradient") {
  Stream stream;
  const AttentionShape shape{1, 64, 1, 64};
  const std::size_t s = 64, d = 64;
  const auto qkv = random_values(3 * s * d, 1), dout = random_values(s * d, 2);
  std::vector<bf16> out(s * d), dqkv(3 * s * d);
  std::vector<float> logsumexp(s), delta(s);
  attention(stream, out, logsumexp, qkv, shape);
  attention_grad(stream, dqkv, delta, dout, out, qkv, logsumexp, shape);
  check_slopes(
      qkv, dqkv,
      [&](const std::vector<double>& v) {
        double total = 0;
        for (std::size_t i = 0; i < s; ++i) {
          std::vector<double> p(i + 1);
          double sum = 0;
          for (std::size_t j = 0; j <= i; ++j) {
            double score = 0;
            for (std::size_t c = 0; c < d; ++c) {
              score += v[i * 3 * d + c] * v[j * 3 * d + d + c];
            }
            sum += p[j] = std::exp(score / 8);
          }
          for (std::size_t j = 0; j <= i; ++j) {
            for (std::size_t c = 0; c < d; ++c) {
              total += p[j] / sum * v[j * 3 * d + 2 * d + c] *
                       static_cast<double>(to_float(dout[i * d + c]));
            }
          }
        }
        return total;
      },
      2 * slope_limit);
}

TEST_CASE("cross-entropy gradient") {
  Stream stream;
  const auto logits = random_values(64, 1);
  std::vector<bf16> gradient = logits;
  std::vector<float> losses(1);
  const std::int32_t target = 5;
  cross_entropy(stream, losses, gradient, {&target, 1}, 64, 1);
  check_slopes(
      logits, gradient,
      [&](const std::vector<double>& v) {
        double sum = 0;
        for (const double a : v) {
          sum += std::exp(a);
        }
        return std::log(sum) - v[5];
      },
      slope_limit);
}

TEST_CASE("linear and its gradients are transposes of each other") {
  Stream stream;
  const int t = 5, o = 7, i = 6;
  const auto x = random_values(t * i, 1), w = random_values(o * i, 2), dy = random_values(t * o, 3);
  std::vector<bf16> y(t * o), dx(t * i);
  std::vector<float> dw(o * i);
  linear(stream, y, x, w, t, o, i);
  linear_grad_input(stream, dx, dy, w, t, o, i);
  linear_grad_weight(stream, dw, dy, x, t, o, i, false);
  const auto pair = [](std::span<const bf16> a, std::span<const bf16> b) {
    double total = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      total += static_cast<double>(to_float(a[k])) * static_cast<double>(to_float(b[k]));
    }
    return total;
  };
  // <dy, y> = <dx, x> = <dw, w>: one number three ways, up to roundings to bf16.
  double third = 0;
  for (std::size_t k = 0; k < w.size(); ++k) {
    third += static_cast<double>(dw[k]) * static_cast<double>(to_float(w[k]));
  }
  CHECK(pair(dy, y) == doctest::Approx(third).epsilon(0.02));
  CHECK(pair(dx, x) == doctest::Approx(third).epsilon(0.02));
}

TEST_CASE("counters: mean and deviation of the first weights, patterns within a byte") {
  double mean = 0, square = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double value = static_cast<double>(normal_at(42, static_cast<std::uint64_t>(i)));
    mean += value / n;
    square += value * value / n;
    const float pattern = pattern_at(1, 2, static_cast<std::uint64_t>(i));
    CHECK_UNARY(pattern >= -7 && pattern <= 8);
  }
  CHECK(std::abs(mean) < 0.02);
  CHECK(std::abs(square - 1) < 0.02);
}

TEST_SUITE_END();
