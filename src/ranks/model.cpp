#include "ranks/model.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ranks/progress.h"

namespace shardlint::ranks {

namespace {

constexpr std::size_t logit_bytes = std::size_t{128} << 20;  // at most, at a time

std::size_t product(std::size_t a, int b) {
  return a * static_cast<std::size_t>(b);
}

}  // namespace

Batch make_batch(std::span<const std::int32_t> tokens, int sequences, int sequence) {
  Batch batch;
  const std::size_t length = static_cast<std::size_t>(sequence);
  ensure(tokens.size() == product(length + 1, sequences), "batch size");
  for (std::size_t b = 0; b < static_cast<std::size_t>(sequences); ++b) {
    for (std::size_t s = 0; s < length; ++s) {
      batch.inputs.push_back(tokens[b * (length + 1) + s]);
      batch.targets.push_back(tokens[b * (length + 1) + s + 1]);
    }
  }
  batch.rows.resize(batch.inputs.size());
  std::iota(batch.rows.begin(), batch.rows.end(), 0);
  std::stable_sort(batch.rows.begin(), batch.rows.end(), [&](std::int32_t a, std::int32_t b) {
    return batch.inputs[static_cast<std::size_t>(a)] < batch.inputs[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const std::int32_t id = batch.inputs[static_cast<std::size_t>(batch.rows[i])];
    if (batch.ids.empty() || batch.ids.back() != id) {
      batch.ids.push_back(id);
      batch.starts.push_back(static_cast<std::int32_t>(i));
    }
  }
  batch.starts.push_back(static_cast<std::int32_t>(batch.rows.size()));
  return batch;
}

Model::Model(const ModelSizes& sizes, int micro_batch, Parameters& parameters, const Groups& groups,
             Stream& compute)
    : sizes_(sizes),
      batch_(micro_batch),
      tokens_(micro_batch * sizes.sequence),
      parameters_(parameters),
      groups_(groups),
      compute_(compute),
      attention_{micro_batch, sizes.sequence, sizes.heads, sizes.head_size()} {
  const std::size_t t = static_cast<std::size_t>(tokens_);
  wide_ = product(t, sizes.hidden);
  const std::size_t layers = static_cast<std::size_t>(sizes.layers);
  logit_rows_ = static_cast<int>(
      std::clamp<std::size_t>(logit_bytes / (2 * static_cast<std::size_t>(sizes.vocab)), 1, t));
  // Layers that are done with lie together at the end: the embedding's gradient borrows them.
  saved_ = Buffer<bf16>((10 * layers + 2) * wide_, Use::activations);
  const std::size_t rows = product(t, sizes.heads);
  saved_floats_ = Buffer<float>(layers * (4 * t + rows) + 2 * t + rows, Use::activations);
  const std::size_t logits = product(static_cast<std::size_t>(logit_rows_), sizes.vocab);
  scratch_ = Buffer<bf16>(2 * wide_ + std::max(8 * wide_, logits), Use::activations);
  std::span<bf16> left = saved_.all();
  std::span<float> floats = saved_floats_.all();
  const auto take = [](auto& from, std::size_t count) {
    const auto taken = from.first(count);
    from = from.subspan(count);
    return taken;
  };
  for (std::size_t i = 0; i < layers; ++i) {
    Layer layer;
    layer.input = take(left, wide_);
    layer.qkv = take(left, 3 * wide_);
    layer.attended = take(left, wide_);
    layer.middle = take(left, wide_);
    layer.up = take(left, 4 * wide_);
    layer.statistics = take(floats, 4 * t);
    layer.logsumexp = take(floats, rows);
    layers_.push_back(layer);
  }
  last_ = take(left, wide_);
  final_ = take(left, wide_);
  last_statistics_ = take(floats, 2 * t);
  delta_ = take(floats, rows);
  std::span<bf16> scratch = scratch_.all();
  grad_ = take(scratch, wide_);
  normed_ = take(scratch, wide_);
  wide_a_ = scratch.first(4 * wide_);
  wide_b_ = scratch.subspan(4 * wide_, 4 * wide_);
  losses_ = Buffer<float>(t, Use::activations);
  partials_ = Buffer<float>(layernorm_scratch(sizes.hidden), Use::activations);
  part_loss_ = Buffer<float>(1, Use::activations);
  reduce_scratch_ = Buffer<float>(reduction_scratch, Use::activations);
  inputs_ = Buffer<std::int32_t>(t, Use::activations);
  targets_ = Buffer<std::int32_t>(t, Use::activations);
  rows_ = Buffer<std::int32_t>(t, Use::activations);
  starts_ = Buffer<std::int32_t>(t + 1, Use::activations);
  ids_ = Buffer<std::int32_t>(t, Use::activations);
  if (sizes.experts > 0) {
    moe_.local = sizes.experts / groups.expert->size();
    moe_.first = moe_.local * groups.expert->rank();
    moe_.tokens = tokens_ * groups.expert->size();
    const std::size_t all = product(static_cast<std::size_t>(moe_.tokens), sizes.hidden);
    const std::size_t scores = product(static_cast<std::size_t>(moe_.tokens), sizes.experts);
    moe_.x = Buffer<bf16>(all, Use::activations);
    moe_.routed = Buffer<bf16>(all, Use::activations);
    moe_.up = Buffer<bf16>(4 * all, Use::activations);
    moe_.act = Buffer<bf16>(4 * all, Use::activations);
    moe_.y = Buffer<bf16>(all, Use::activations);
    moe_.dy = Buffer<bf16>(all, Use::activations);
    moe_.normed = Buffer<bf16>(wide_, Use::activations);
    moe_.router = Buffer<bf16>(product(t, sizes.experts), Use::activations);
    moe_.drouter = Buffer<bf16>(product(t, sizes.experts), Use::activations);
    moe_.sum = Buffer<float>(all, Use::activations);
    moe_.dx = Buffer<float>(all, Use::activations);
    moe_.probabilities = Buffer<float>(scores, Use::activations);
    moe_.dprobabilities = Buffer<float>(scores, Use::activations);
    moe_.chosen = Buffer<std::int32_t>(product(static_cast<std::size_t>(moe_.tokens), sizes.top_k),
                                       Use::activations);
  }
}

std::span<const bf16> Model::tensor(std::size_t bucket, Weights weights, const char* suffix) const {
  const Tensor& found = parameters_.layout().find(bucket, suffix);
  return weights.subspan(found.offset, found.count);
}

std::span<float> Model::tensor(std::size_t bucket, std::span<float> gradient,
                               const char* suffix) const {
  const Tensor& found = parameters_.layout().find(bucket, suffix);
  return gradient.subspan(found.offset, found.count);
}

void Model::clear_floats(std::span<float> data) {
  clear(data.data(), data.size_bytes(), compute_);
}

void Model::forward_layer(int i) {
  const Layout& layout = parameters_.layout();
  const std::size_t bucket = layout.layer(i);
  const bool last = i + 1 == sizes_.layers;
  const bool moe = layout.moe && last;
  const std::size_t next = moe ? layout.experts() : last ? layout.head() : bucket + 1;
  const Weights w = parameters_.weights(bucket, next);
  Layer& at = layers_[static_cast<std::size_t>(i)];
  const int t = tokens_, h = sizes_.hidden;
  const std::size_t half = 2 * static_cast<std::size_t>(t);
  // The input of layer 0 is there; of the others it is made here from what the last one left.
  const std::span<const bf16> before =
      i == 0 ? at.input : layers_[static_cast<std::size_t>(i - 1)].middle;
  const std::span<const bf16> added = i == 0 ? std::span<const bf16>{} : grad_;
  add_layernorm(compute_, at.input, normed_, at.statistics.first(half), before, added,
                tensor(bucket, w, "linear_qkv.layer_norm_weight"),
                tensor(bucket, w, "linear_qkv.layer_norm_bias"), h);
  linear(compute_, at.qkv, normed_, tensor(bucket, w, "linear_qkv.weight"), t, 3 * h, h);
  attention(compute_, at.attended, at.logsumexp, at.qkv, attention_);
  linear(compute_, grad_, at.attended, tensor(bucket, w, "linear_proj.weight"), t, h, h);
  const char* norm_weight = moe ? "pre_mlp_layernorm.weight" : "linear_fc1.layer_norm_weight";
  const char* norm_bias = moe ? "pre_mlp_layernorm.bias" : "linear_fc1.layer_norm_bias";
  add_layernorm(compute_, at.middle, normed_, at.statistics.subspan(half), at.input, grad_,
                tensor(bucket, w, norm_weight), tensor(bucket, w, norm_bias), h);
  if (moe) {
    linear(compute_, moe_.router.all(), normed_, tensor(bucket, w, "router.weight"), t,
           sizes_.experts, h);
    parameters_.release(bucket);
    experts_forward(normed_);
    return;
  }
  linear(compute_, at.up, normed_, tensor(bucket, w, "linear_fc1.weight"), t, 4 * h, h);
  gelu(compute_, wide_a_, at.up);
  linear(compute_, grad_, wide_a_, tensor(bucket, w, "linear_fc2.weight"), t, h, 4 * h);
  parameters_.release(bucket);
}

void Model::head(std::span<float> loss, float share, float grad_share) {
  const Layout& layout = parameters_.layout();
  const std::size_t bucket = layout.head();
  const std::size_t next = layout.moe ? layout.experts() : layout.layer(sizes_.layers - 1);
  const Weights w = parameters_.weights(bucket, next);
  const int h = sizes_.hidden, v = sizes_.vocab;
  const Weights gain = tensor(bucket, w, "layernorm.weight");
  const Weights bias = tensor(bucket, w, "layernorm.bias");
  const Weights out = tensor(bucket, w, "output_layer.weight");
  add_layernorm(compute_, last_, final_, last_statistics_, layers_.back().middle, grad_, gain, bias,
                h);
  const Parameters::Gradient gradient = parameters_.gradient(bucket);
  const std::span<float> dout = tensor(bucket, gradient.data, "output_layer.weight");
  const std::span<float> dgain = tensor(bucket, gradient.data, "layernorm.weight");
  const std::span<float> dbias = tensor(bucket, gradient.data, "layernorm.bias");
  if (gradient.fresh) {
    clear_floats(dgain);
    clear_floats(dbias);
  }
  const float per_token = grad_share / static_cast<float>(tokens_);
  // The logits of a few rows at a time; their gradient takes their place.
  const std::span<bf16> logits = scratch_.all().subspan(2 * wide_);
  for (int row = 0; row < tokens_; row += logit_rows_) {
    const int rows = std::min(logit_rows_, tokens_ - row);
    const std::size_t first = static_cast<std::size_t>(row), n = static_cast<std::size_t>(rows);
    const std::span<bf16> x = final_.subspan(product(first, h), product(n, h));
    const std::span<bf16> here = logits.first(product(n, v));
    linear(compute_, here, x, out, rows, v, h);
    cross_entropy(compute_, losses_.all().subspan(first, n), here, targets_.all().subspan(first, n),
                  v, per_token);
    linear_grad_input(compute_, normed_.subspan(product(first, h), product(n, h)), here, out, rows,
                      v, h);
    linear_grad_weight(compute_, dout, here, x, rows, v, h, !gradient.fresh || row > 0);
  }
  sum(compute_, part_loss_.all(), reduce_scratch_.all(), losses_.all());
  scale(compute_, part_loss_.all(), share / static_cast<float>(tokens_));
  add(compute_, loss, part_loss_.all());
  layernorm_grad(compute_, grad_, final_, dgain, dbias, partials_.all(), normed_, {}, last_,
                 last_statistics_, gain, bias, h);
  parameters_.release(bucket);
  parameters_.gradient_complete(bucket);
}

// grad_ holds the gradient of the layer's output and then of its input.
void Model::backward_layer(int i) {
  const Layout& layout = parameters_.layout();
  const std::size_t bucket = layout.layer(i);
  const bool moe = layout.moe && i + 1 == sizes_.layers;
  const int t = tokens_, h = sizes_.hidden;
  const std::size_t half = 2 * static_cast<std::size_t>(t);
  Layer& at = layers_[static_cast<std::size_t>(i)];
  if (moe) {
    experts_backward(normed_, grad_);
  }
  const Weights w =
      parameters_.weights(bucket, i == 0 ? std::nullopt : std::optional<std::size_t>(bucket - 1));
  const Parameters::Gradient gradient = parameters_.gradient(bucket);
  const auto slice = [&](const char* suffix) { return tensor(bucket, gradient.data, suffix); };
  const char* norm_weight = moe ? "pre_mlp_layernorm.weight" : "linear_fc1.layer_norm_weight";
  const char* norm_bias = moe ? "pre_mlp_layernorm.bias" : "linear_fc1.layer_norm_bias";
  if (gradient.fresh) {
    for (const char* suffix :
         {"linear_qkv.layer_norm_weight", "linear_qkv.layer_norm_bias", norm_weight, norm_bias}) {
      clear_floats(slice(suffix));
    }
  }
  const bool more = !gradient.fresh;
  std::span<bf16> dnormed = normed_;
  if (moe) {
    linear_grad_weight(compute_, slice("router.weight"), moe_.drouter.all(), moe_.normed.all(), t,
                       sizes_.experts, h, more);
    const std::span<bf16> from_router = wide_a_.first(wide_);
    linear_grad_input(compute_, from_router, moe_.drouter.all(), tensor(bucket, w, "router.weight"),
                      t, sizes_.experts, h);
    add(compute_, dnormed, from_router);
  } else {
    linear_grad_input(compute_, wide_a_, grad_, tensor(bucket, w, "linear_fc2.weight"), t, h,
                      4 * h);
    gelu_grad(compute_, wide_a_, wide_b_, wide_a_, at.up);
    linear_grad_weight(compute_, slice("linear_fc2.weight"), grad_, wide_b_, t, h, 4 * h, more);
    linear_grad_input(compute_, dnormed, wide_a_, tensor(bucket, w, "linear_fc1.weight"), t, 4 * h,
                      h);
  }
  // Through the second norm; its output, needed by the weight gradient, comes out once more.
  const std::span<bf16> again = wide_b_.first(wide_);
  layernorm_grad(compute_, grad_, again, slice(norm_weight), slice(norm_bias), partials_.all(),
                 dnormed, grad_, at.middle, at.statistics.subspan(half),
                 tensor(bucket, w, norm_weight), tensor(bucket, w, norm_bias), h);
  if (!moe) {
    linear_grad_weight(compute_, slice("linear_fc1.weight"), wide_a_, again, t, 4 * h, h, more);
  }
  linear_grad_input(compute_, normed_, grad_, tensor(bucket, w, "linear_proj.weight"), t, h, h);
  linear_grad_weight(compute_, slice("linear_proj.weight"), grad_, at.attended, t, h, h, more);
  const std::span<bf16> dqkv = wide_a_.first(3 * wide_);
  attention_grad(compute_, dqkv, delta_, normed_, at.attended, at.qkv, at.logsumexp, attention_);
  linear_grad_input(compute_, normed_, dqkv, tensor(bucket, w, "linear_qkv.weight"), t, 3 * h, h);
  layernorm_grad(compute_, grad_, again, slice("linear_qkv.layer_norm_weight"),
                 slice("linear_qkv.layer_norm_bias"), partials_.all(), normed_, grad_, at.input,
                 at.statistics.first(half), tensor(bucket, w, "linear_qkv.layer_norm_weight"),
                 tensor(bucket, w, "linear_qkv.layer_norm_bias"), h);
  linear_grad_weight(compute_, slice("linear_qkv.weight"), dqkv, again, t, 3 * h, h, more);
  parameters_.release(bucket);
  parameters_.gradient_complete(bucket);
}

void Model::forward_backward(const Batch& batch, std::span<float> loss, float share,
                             float grad_share) {
  const Layout& layout = parameters_.layout();
  const auto upload = [&](Buffer<std::int32_t>& to, const std::vector<std::int32_t>& from) {
    copy_in(to.all().data(), from.data(), from.size() * sizeof(std::int32_t), compute_);
  };
  upload(inputs_, batch.inputs);
  upload(targets_, batch.targets);
  upload(rows_, batch.rows);
  upload(starts_, batch.starts);
  upload(ids_, batch.ids);
  groups_of_tokens_ = batch.ids.size();
  const std::size_t bucket = layout.embedding();
  const Weights w = parameters_.weights(bucket, layout.layer(0));
  embed(compute_, layers_[0].input, inputs_.all(), tensor(bucket, w, "word_embeddings.weight"),
        tensor(bucket, w, "position_embeddings.weight"), sizes_.sequence, sizes_.hidden);
  parameters_.release(bucket);
  for (int i = 0; i < sizes_.layers; ++i) {
    forward_layer(i);
  }
  head(loss, share, grad_share);
  for (int i = sizes_.layers - 1; i >= 0; --i) {
    backward_layer(i);
  }
  // All layers are done with: their activations lend their memory (bf16 pairs are floats).
  const std::span<float> spare{reinterpret_cast<float*>(saved_.all().data()), saved_.size() / 2};
  const Parameters::Gradient gradient = parameters_.gradient(bucket, spare);
  const std::span<float> dword = tensor(bucket, gradient.data, "word_embeddings.weight");
  const std::span<float> dposition = tensor(bucket, gradient.data, "position_embeddings.weight");
  if (gradient.fresh) {
    clear_floats(dword);
    clear_floats(dposition);
  }
  const TokenGroups groups{rows_.all(), starts_.all().first(groups_of_tokens_ + 1),
                           ids_.all().first(groups_of_tokens_)};
  embed_grad(compute_, dword, dposition, grad_, groups, tokens_, sizes_.sequence, sizes_.hidden);
  parameters_.gradient_complete(bucket);
}

}  // namespace shardlint::ranks
