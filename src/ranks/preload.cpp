#include "ranks/preload.h"

#include "ranks/buffer.h"
#include "ranks/ops.h"

namespace shardlint::ranks {

void preload_kernels(const ModelSizes& sizes) {
  Stream stream;
  const int h = sizes.hidden, tokens = 64;
  const std::size_t wide = static_cast<std::size_t>(h) * tokens;
  Buffer<bf16> narrow(5 * wide, Use::other);
  Buffer<float> floats(3 * wide + layernorm_scratch(h) + 4096, Use::other);
  Buffer<std::int32_t> integers(256, Use::other);
  Buffer<std::uint64_t> hash(1, Use::other);
  clear(narrow.all().data(), narrow.all().size_bytes(), stream);
  clear(floats.all().data(), floats.all().size_bytes(), stream);
  clear(integers.all().data(), integers.all().size_bytes(), stream);
  clear(hash.all().data(), sizeof(std::uint64_t), stream);
  const std::span<bf16> a = narrow.all().first(wide), qkv = narrow.all().subspan(wide, 3 * wide);
  const std::span<bf16> row = a.first(static_cast<std::size_t>(h));
  const std::span<bf16> out = narrow.all().subspan(4 * wide);
  const std::span<float> f = floats.all().first(wide), scratch = floats.all().subspan(wide);
  const std::span<std::int32_t> ids = integers.all().first(tokens);
  const auto one = [](auto span) { return span.first(1); };

  embed(stream, a, ids, qkv, qkv, tokens, h);
  embed_grad(stream, f, f, a, {ids, integers.all().first(2), one(ids)}, tokens, tokens, h);
  add_layernorm(stream, a, out, scratch.first(2 * tokens), a, a, row, row, h);
  layernorm_grad(stream, a, out, f, f, scratch, a, a, a, scratch.first(2 * tokens), row, row, h);
  gelu(stream, a, a);
  gelu_grad(stream, a, out, a, a);
  const AttentionShape shape{1, tokens, sizes.heads, sizes.head_size()};
  attention(stream, out, scratch, qkv, shape);
  attention_grad(stream, qkv, scratch, a, out, qkv, scratch, shape);
  cross_entropy(stream, scratch, a.first(64), one(ids), 64, 1);
  if (sizes.experts > 0) {
    const std::size_t scores = static_cast<std::size_t>(sizes.experts) * tokens;
    const std::span<float> p = scratch.first(scores);
    route(stream, p, integers.all().first(static_cast<std::size_t>(sizes.top_k) * tokens),
          a.first(scores), sizes.experts, sizes.top_k);
    const auto chosen = integers.all().first(static_cast<std::size_t>(sizes.top_k) * tokens);
    select_rows(stream, out, a, chosen, 0, sizes.top_k, h);
    combine_rows(stream, f, a, p, chosen, 0, sizes.experts, sizes.top_k, h, true);
    combine_grad(stream, out, p, f, a, p, chosen, 0, sizes.experts, sizes.top_k, h);
    route_grad(stream, out.first(scores), p, p, sizes.experts);
  }
  round_to_bf16(stream, a, f);
  widen_to_float(stream, f, a);
  add(stream, f, f);
  add(stream, a, out);
  scale(stream, f, 1);
  const std::span<float> parts = scratch.first(3 * wide - wide);
  adamw(stream, f, parts.first(wide), parts.subspan(wide, wide).first(wide), f, {},
        {0, 0.5f, 0.5f, 1, 0, 1});
  sum(stream, one(f), scratch, f);
  sum_squares(stream, one(f), scratch, f);
  clip_factor(stream, one(f), one(scratch), 1);
  fill_normal(stream, f, 1, 0, 1);
  fill_value(stream, f, 0);
  fill_pattern(stream, f, 1, 0, 0);
  check_pattern(stream, one(f), scratch, f, 1, 0, 1, 0);
  hash_bits(stream, hash.all(), {reinterpret_cast<const std::uint32_t*>(f.data()), 64}, 0);
  stream.synchronize();
}

}  // namespace shardlint::ranks
