// One table of cases: every op of the GPU against the reference loops on the same random inputs,
// with a tolerance and its reason beside each. A new op is one more row.
//
// Differences are ||gpu - cpu|| / ||cpu|| over each output. Outputs start as NaN, so that an
// element nobody wrote shows.

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "ranks/buffer.h"
#include "ranks/ops.h"
#include "ranks/progress.h"
#include "ranks/random.h"
#include "ranks/self_test.h"

namespace shardlint::ranks {

namespace reference {
#include "ranks/ops_list.inc"
}

namespace {

// A value that lives on both sides. Inputs are filled from a seed, outputs with NaN.
template <typename T>
struct Twin {
  std::vector<T> host;
  Buffer<T> device;
  Twin(std::size_t count, Stream& stream, const std::function<T(std::size_t)>& value)
      : host(count), device(count, Use::other) {
    for (std::size_t i = 0; i < count; ++i) {
      host[i] = value(i);
    }
    copy_in(device.all().data(), host.data(), count * sizeof(T), stream);
    stream.synchronize();
  }
  std::vector<T> from_device(Stream& stream) const {
    std::vector<T> out(host.size());
    copy_out(out.data(), device.all().data(), out.size() * sizeof(T), stream);
    return out;
  }
};

float number(float value) {
  return value;
}
float number(bf16 value) {
  return to_float(value);
}
float number(std::int32_t value) {
  return static_cast<float>(value);
}

class Case {
 public:
  Case(std::string name, double tolerance, const char* reason)
      : name_(std::move(name)), tolerance_(tolerance), reason_(reason) {}

  Stream stream;

  Twin<bf16> narrow(std::size_t count, float deviation = 1) {
    return {count, stream,
            [&, seed = ++seed_](std::size_t i) { return to_bf16(normal_at(seed, i) * deviation); }};
  }
  Twin<float> wide(std::size_t count, float deviation = 1, float shift = 0) {
    return {count, stream,
            [&, seed = ++seed_](std::size_t i) { return normal_at(seed, i) * deviation + shift; }};
  }
  Twin<std::int32_t> integers(std::size_t count, std::int32_t below) {
    return {
        count, stream, [&, seed = ++seed_](std::size_t i) {
          return static_cast<std::int32_t>(mix(seed ^ mix(i)) % static_cast<std::uint64_t>(below));
        }};
  }
  Twin<bf16> narrow_out(std::size_t count) {
    return {count, stream, [](std::size_t) { return bf16{0xffff}; }};
  }
  Twin<float> wide_out(std::size_t count) {
    return {count, stream, [](std::size_t) { return std::nanf(""); }};
  }
  Twin<float> zeros(std::size_t count) {
    return {count, stream, [](std::size_t) { return 0.0f; }};
  }

  template <typename T>
  void compare(const char* output, const Twin<T>& twin) {
    const std::vector<T> gpu = twin.from_device(stream);
    double square = 0, scale = 0;
    for (std::size_t i = 0; i < gpu.size(); ++i) {
      const double a = static_cast<double>(number(gpu[i]));
      const double b = static_cast<double>(number(twin.host[i]));
      square += (a - b) * (a - b);
      scale += b * b;
    }
    const double difference = scale > 0 ? std::sqrt(square / scale) : std::sqrt(square);
    const bool ok = difference <= tolerance_;  // NaN fails
    failed_ = failed_ || !ok;
    std::fprintf(stderr, "%s %-34s %-14s %.2e <= %.0e  %s\n", ok ? "ok  " : "FAIL", name_.c_str(),
                 output, difference, tolerance_, reason_);
  }
  bool failed() const { return failed_; }

 private:
  std::string name_;
  double tolerance_;
  const char* reason_;
  std::uint64_t seed_ = 0;
  bool failed_ = false;
};

template <typename T>
std::span<T> cpu(Twin<T>& twin) {
  return twin.host;
}
template <typename T>
std::span<T> gpu(Twin<T>& twin) {
  return twin.device.all();
}

// Sums of different order, rounded once: an ulp of bf16 now and then is a part in a thousand.
constexpr double rounding = 3e-3;
constexpr const char* rounding_reason = "float sums in another order, one rounding to bf16";
// P and dS meet the tensor cores rounded to bf16, relative to another maximum than the loops'.
constexpr double attention_limit = 1e-2;
constexpr const char* attention_reason = "probabilities rounded to bf16 against a running maximum";
constexpr double exact_float = 2e-6;
constexpr const char* float_reason = "float sums in another order";

bool test_linear(int t, int o, int i) {
  const std::string shape = std::to_string(t) + "x" + std::to_string(o) + "x" + std::to_string(i);
  const auto n = [](int a, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
  };
  Case c("linear " + shape, rounding, rounding_reason);
  auto x = c.narrow(n(t, i)), w = c.narrow(n(o, i), 0.05f), y = c.narrow_out(n(t, o));
  linear(c.stream, gpu(y), gpu(x), gpu(w), t, o, i);
  reference::linear(c.stream, cpu(y), cpu(x), cpu(w), t, o, i);
  c.compare("y", y);
  auto dy = c.narrow(n(t, o)), dx = c.narrow_out(n(t, i));
  linear_grad_input(c.stream, gpu(dx), gpu(dy), gpu(w), t, o, i);
  reference::linear_grad_input(c.stream, cpu(dx), cpu(dy), cpu(w), t, o, i);
  c.compare("dx", dx);
  Case d("linear_grad_weight " + shape, 1e-5, float_reason);
  auto dw = d.wide_out(n(o, i));
  for (const bool add : {false, true}) {
    linear_grad_weight(d.stream, gpu(dw), gpu(dy), gpu(x), t, o, i, add);
    reference::linear_grad_weight(d.stream, cpu(dw), cpu(dy), cpu(x), t, o, i, add);
    d.compare(add ? "dw added" : "dw", dw);
  }
  return c.failed() || d.failed();
}

bool test_embed(int batch, int s, int h, int v) {
  Case c("embed", 1e-9, "one addition and rounding");
  const std::size_t t = static_cast<std::size_t>(batch * s), wide = t * static_cast<std::size_t>(h);
  auto tokens = c.integers(t, v);
  auto word = c.narrow(static_cast<std::size_t>(v * h)),
       position = c.narrow(static_cast<std::size_t>(s * h));
  auto x = c.narrow_out(wide);
  embed(c.stream, gpu(x), gpu(tokens), gpu(word), gpu(position), s, h);
  reference::embed(c.stream, cpu(x), cpu(tokens), cpu(word), cpu(position), s, h);
  c.compare("x", x);
  Case d("embed_grad", 1e-6, float_reason);
  // Tokens grouped as a batch does it.
  std::vector<std::int32_t> rows, starts, ids;
  for (std::int32_t id = 0; id < v; ++id) {
    const std::size_t before = rows.size();
    for (std::size_t i = 0; i < t; ++i) {
      if (tokens.host[i] == id) {
        rows.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (rows.size() > before) {
      starts.push_back(static_cast<std::int32_t>(before));
      ids.push_back(id);
    }
  }
  starts.push_back(static_cast<std::int32_t>(rows.size()));
  const auto twin = [&](const std::vector<std::int32_t>& from) {
    return Twin<std::int32_t>(from.size(), d.stream, [&](std::size_t i) { return from[i]; });
  };
  auto r = twin(rows), st = twin(starts), id = twin(ids);
  auto dx = d.narrow(wide);
  auto dword = d.wide(static_cast<std::size_t>(v * h)),
       dposition = d.wide(static_cast<std::size_t>(s * h));
  embed_grad(d.stream, gpu(dword), gpu(dposition), gpu(dx), {gpu(r), gpu(st), gpu(id)},
             static_cast<int>(t), s, h);
  reference::embed_grad(d.stream, cpu(dword), cpu(dposition), cpu(dx), {cpu(r), cpu(st), cpu(id)},
                        static_cast<int>(t), s, h);
  d.compare("dword", dword);
  d.compare("dposition", dposition);
  return c.failed() || d.failed();
}

bool test_layernorm(int rows, int h) {
  Case c("add_layernorm " + std::to_string(h), rounding, rounding_reason);
  const std::size_t wide = static_cast<std::size_t>(rows) * static_cast<std::size_t>(h);
  const std::size_t width = static_cast<std::size_t>(h);
  auto x = c.narrow(wide), y = c.narrow(wide), w = c.narrow(width), b = c.narrow(width);
  auto sum = c.narrow_out(wide), out = c.narrow_out(wide);
  auto statistics = c.wide_out(2 * static_cast<std::size_t>(rows));
  add_layernorm(c.stream, gpu(sum), gpu(out), gpu(statistics), gpu(x), gpu(y), gpu(w), gpu(b), h);
  reference::add_layernorm(c.stream, cpu(sum), cpu(out), cpu(statistics), cpu(x), cpu(y), cpu(w),
                           cpu(b), h);
  c.compare("sum", sum);
  c.compare("out", out);
  c.compare("statistics", statistics);
  auto dy = c.narrow(wide), residual = c.narrow(wide), dx = c.narrow_out(wide);
  auto dw = c.wide(width), db = c.wide(width);
  auto again = c.narrow_out(wide);
  Buffer<float> partials(layernorm_scratch(h), Use::other);
  layernorm_grad(c.stream, gpu(dx), gpu(again), gpu(dw), gpu(db), partials.all(), gpu(dy),
                 gpu(residual), gpu(sum), gpu(statistics), gpu(w), gpu(b), h);
  reference::layernorm_grad(c.stream, cpu(dx), cpu(again), cpu(dw), cpu(db), {}, cpu(dy),
                            cpu(residual), cpu(sum), cpu(statistics), cpu(w), cpu(b), h);
  c.compare("dx", dx);
  c.compare("out again", again);
  c.compare("dw", dw);
  c.compare("db", db);
  return c.failed();
}

bool test_gelu(std::size_t count) {
  Case c("gelu", rounding, "fast exponential, one rounding to bf16");
  auto x = c.narrow(count, 3), y = c.narrow_out(count);
  gelu(c.stream, gpu(y), gpu(x));
  reference::gelu(c.stream, cpu(y), cpu(x));
  c.compare("y", y);
  auto dy = c.narrow(count), again = c.narrow_out(count);
  gelu_grad(c.stream, gpu(dy), gpu(again), gpu(dy), gpu(x));
  reference::gelu_grad(c.stream, cpu(dy), cpu(again), cpu(dy), cpu(x));
  c.compare("dx", dy);
  c.compare("y again", again);
  return c.failed();
}

bool test_attention(const AttentionShape& s) {
  Case c("attention " + std::to_string(s.batch) + "x" + std::to_string(s.sequence) + "x" +
             std::to_string(s.heads) + "x" + std::to_string(s.head_size),
         attention_limit, attention_reason);
  const std::size_t rows = static_cast<std::size_t>(s.batch * s.sequence * s.heads);
  const std::size_t wide = rows * static_cast<std::size_t>(s.head_size);
  auto qkv = c.narrow(3 * wide), out = c.narrow_out(wide);
  auto logsumexp = c.wide_out(rows);
  attention(c.stream, gpu(out), gpu(logsumexp), gpu(qkv), s);
  reference::attention(c.stream, cpu(out), cpu(logsumexp), cpu(qkv), s);
  c.compare("out", out);
  c.compare("logsumexp", logsumexp);
  auto dout = c.narrow(wide), dqkv = c.narrow_out(3 * wide);
  auto delta = c.wide_out(rows);
  attention_grad(c.stream, gpu(dqkv), gpu(delta), gpu(dout), gpu(out), gpu(qkv), gpu(logsumexp), s);
  reference::attention_grad(c.stream, cpu(dqkv), cpu(delta), cpu(dout), cpu(out), cpu(qkv),
                            cpu(logsumexp), s);
  c.compare("delta", delta);
  c.compare("dqkv", dqkv);
  // Twice the same bits: no result depends on which block comes first.
  const std::vector<bf16> first = dqkv.from_device(c.stream);
  attention_grad(c.stream, gpu(dqkv), gpu(delta), gpu(dout), gpu(out), gpu(qkv), gpu(logsumexp), s);
  const bool same = first == dqkv.from_device(c.stream);
  std::fprintf(stderr, "%s attention_grad repeats bit for bit\n", same ? "ok  " : "FAIL");
  return c.failed() || !same;
}

bool test_cross_entropy(int rows, int v) {
  Case c("cross_entropy " + std::to_string(v), rounding, "fast exponential, one rounding to bf16");
  auto logits = c.narrow(static_cast<std::size_t>(rows) * static_cast<std::size_t>(v), 2);
  auto targets = c.integers(static_cast<std::size_t>(rows), v);
  auto losses = c.wide_out(static_cast<std::size_t>(rows));
  cross_entropy(c.stream, gpu(losses), gpu(logits), gpu(targets), v, 0.125f);
  reference::cross_entropy(c.stream, cpu(losses), cpu(logits), cpu(targets), v, 0.125f);
  c.compare("losses", losses);
  c.compare("dlogits", logits);
  return c.failed();
}

bool test_experts(int tokens, int e, int k, int h) {
  Case c("experts", rounding, "fast exponential; float sums in another order");
  const std::size_t t = static_cast<std::size_t>(tokens), scores = t * static_cast<std::size_t>(e);
  const std::size_t wide = t * static_cast<std::size_t>(h);
  auto router = c.narrow(scores);
  auto p = c.wide_out(scores);
  Twin<std::int32_t> chosen(t * static_cast<std::size_t>(k), c.stream,
                            [](std::size_t) { return -1; });
  route(c.stream, gpu(p), gpu(chosen), gpu(router), e, k);
  reference::route(c.stream, cpu(p), cpu(chosen), cpu(router), e, k);
  c.compare("probabilities", p);
  c.compare("chosen", chosen);
  auto x = c.narrow(wide), routed = c.narrow_out(wide), y = c.narrow(wide), dy = c.narrow_out(wide);
  auto sum = c.wide(wide), dp = c.zeros(scores);
  select_rows(c.stream, gpu(routed), gpu(x), gpu(chosen), 1, k, h);
  reference::select_rows(c.stream, cpu(routed), cpu(x), cpu(chosen), 1, k, h);
  c.compare("selected", routed);
  combine_grad(c.stream, gpu(dy), gpu(dp), gpu(sum), gpu(y), gpu(p), gpu(chosen), 1, e, k, h);
  reference::combine_grad(c.stream, cpu(dy), cpu(dp), cpu(sum), cpu(y), cpu(p), cpu(chosen), 1, e,
                          k, h);
  c.compare("dy", dy);
  c.compare("dprobability", dp);
  combine_rows(c.stream, gpu(sum), gpu(y), gpu(p), gpu(chosen), 1, e, k, h, true);
  reference::combine_rows(c.stream, cpu(sum), cpu(y), cpu(p), cpu(chosen), 1, e, k, h, true);
  c.compare("combined", sum);
  auto drouter = c.narrow_out(scores);
  route_grad(c.stream, gpu(drouter), gpu(dp), gpu(p), e);
  reference::route_grad(c.stream, cpu(drouter), cpu(dp), cpu(p), e);
  c.compare("drouter", drouter);
  return c.failed();
}

bool test_elementwise(std::size_t count) {
  Case c("elementwise " + std::to_string(count), exact_float, float_reason);
  auto a = c.wide(count), b = c.wide(count), total = c.wide_out(1),
       scratch = c.zeros(reduction_scratch);
  auto n = c.narrow_out(count), m = c.narrow(count);
  auto w = c.wide_out(count);
  round_to_bf16(c.stream, gpu(n), gpu(a));
  reference::round_to_bf16(c.stream, cpu(n), cpu(a));
  c.compare("to_bf16", n);
  widen_to_float(c.stream, gpu(w), gpu(m));
  reference::widen_to_float(c.stream, cpu(w), cpu(m));
  c.compare("to_float", w);
  add(c.stream, gpu(a), gpu(b));
  reference::add(c.stream, cpu(a), cpu(b));
  c.compare("add", a);
  add(c.stream, gpu(n), gpu(m));
  reference::add(c.stream, cpu(n), cpu(m));
  c.compare("add bf16", n);
  scale(c.stream, gpu(a), 0.3f);
  reference::scale(c.stream, cpu(a), 0.3f);
  c.compare("scale", a);
  sum_squares(c.stream, gpu(total), gpu(scratch), gpu(a));
  reference::sum_squares(c.stream, cpu(total), cpu(scratch), cpu(a));
  c.compare("sum_squares", total);
  auto shifted = c.wide(count, 1, 3);
  sum(c.stream, gpu(total), gpu(scratch), gpu(shifted));
  reference::sum(c.stream, cpu(total), cpu(scratch), cpu(shifted));
  c.compare("sum", total);
  auto factor = c.wide_out(1);
  clip_factor(c.stream, gpu(factor), gpu(total), 0.7f);
  reference::clip_factor(c.stream, cpu(factor), cpu(total), 0.7f);
  c.compare("clip_factor", factor);
  return c.failed();
}

bool test_adamw(std::size_t count) {
  Case c("adamw", 1e-5, "square roots and divisions, fused or not");
  auto w = c.wide(count), m = c.wide(count, 0.1f), v = c.wide(count, 0.01f, 0.2f),
       g = c.wide(count);
  auto factor = c.wide(1, 0, 0.5f);
  const AdamW options{1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 3};
  adamw(c.stream, gpu(w), gpu(m), gpu(v), gpu(g), gpu(factor), options);
  reference::adamw(c.stream, cpu(w), cpu(m), cpu(v), cpu(g), cpu(factor), options);
  c.compare("main", w);
  c.compare("first", m);
  c.compare("second", v);
  return c.failed();
}

bool test_patterns(std::size_t count) {
  Case c("patterns", 0, "integers from a counter: the same bits");
  auto a = c.wide_out(count), wrong = c.wide_out(1), scratch = c.zeros(reduction_scratch);
  fill_normal(c.stream, gpu(a), 7, 3, 0.02f);
  reference::fill_normal(c.stream, cpu(a), 7, 3, 0.02f);
  c.compare("fill_normal", a);
  fill_pattern(c.stream, gpu(a), 7, 2, 5);
  reference::fill_pattern(c.stream, cpu(a), 7, 2, 5);
  c.compare("fill_pattern", a);
  fill_value(c.stream, gpu(a).subspan(3, 1), 100);
  reference::fill_value(c.stream, cpu(a).subspan(3, 1), 100);
  check_pattern(c.stream, gpu(wrong), gpu(scratch), gpu(a), 7, 2, 1, 5);
  reference::check_pattern(c.stream, cpu(wrong), cpu(scratch), cpu(a), 7, 2, 1, 5);
  c.compare("check_pattern", wrong);
  Buffer<std::uint64_t> hash(1, Use::other);
  clear(hash.all().data(), sizeof(std::uint64_t), c.stream);
  std::uint64_t mine = 0, theirs = 0;
  const auto bits = [](std::span<float> data) {
    return std::span<const std::uint32_t>(reinterpret_cast<const std::uint32_t*>(data.data()),
                                          data.size());
  };
  hash_bits(c.stream, hash.all(), bits(gpu(a)), 9);
  reference::hash_bits(c.stream, {&theirs, 1}, bits(cpu(a)), 9);
  copy_out(&mine, hash.all().data(), sizeof mine, c.stream);
  std::fprintf(stderr, "%s hash_bits\n", mine == theirs ? "ok  " : "FAIL");
  return c.failed() || mine != theirs;
}

}  // namespace

int self_test(bool products) {
  std::string why;
  RuntimeFacts facts;
  if (device_count(why) == 0 || !(why = load_libraries(facts)).empty()) {
    std::fprintf(stderr, "skipped: %s\n", why.c_str());
    return 77;
  }
  use_device(0);
  int failed = 0;
  for (const auto& [t, o, i] :
       {std::tuple{128, 256, 64}, {192, 384, 128}, {64, 8, 128}, {256, 128, 512}}) {
    failed += products && test_linear(t, o, i);
  }
  failed += test_embed(3, 64, 128, 97);
  for (const int hidden : {64, 192, 2048, 4096, 8192, 16384, 32768}) {
    failed += test_layernorm(hidden > 4096 ? 9 : 300, hidden);
  }
  failed += test_gelu(40000) + test_gelu(77);
  for (const AttentionShape& shape :
       {AttentionShape{2, 64, 2, 64}, {1, 192, 3, 64}, {2, 128, 2, 128}, {1, 320, 1, 128}}) {
    failed += test_attention(shape);
  }
  failed +=
      test_cross_entropy(33, 64) + test_cross_entropy(17, 4096) + test_cross_entropy(5, 32768);
  failed += test_experts(70, 4, 1, 128) + test_experts(70, 8, 2, 192);
  failed += test_elementwise(64) + test_elementwise(100003) + test_elementwise(1 << 20);
  failed += test_adamw(4096) + test_patterns(10007);
  std::fprintf(stderr, "%s\n", failed == 0 ? "every op agrees with the reference" : "ops DISAGREE");
  return failed == 0 ? 0 : 1;
}

Plan self_test_plan() {
  std::string why;
  Plan plan;
  plan.ranks = device_count(why) >= 2 ? 2 : 1;
  return plan;
}

}  // namespace shardlint::ranks
