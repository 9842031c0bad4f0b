#include "ranks/layout.h"

#include <cmath>

#include "base/error.h"

namespace shardlint::ranks {

namespace {

class Builder {
 public:
  void open(std::string name, bool expert = false) {
    layout.buckets.push_back({std::move(name), {}, 0, expert});
  }
  void tensor(std::string name, std::vector<std::int64_t> shape, float deviation, float constant,
              std::uint64_t number) {
    std::size_t count = 1;
    for (const std::int64_t length : shape) {
      count *= static_cast<std::size_t>(length);
    }
    Bucket& bucket = layout.buckets.back();
    bucket.tensors.push_back(
        {std::move(name), std::move(shape), bucket.count, count, number, deviation, constant});
    bucket.count += (count + 63) / 64 * 64;
  }
  void close(int parts) {
    const std::size_t unit = 64 * static_cast<std::size_t>(parts);
    std::size_t& count = layout.buckets.back().count;
    count = (count + unit - 1) / unit * unit;
  }
  Layout layout;
};

}  // namespace

const Tensor& Layout::find(std::size_t bucket, const std::string& suffix) const {
  for (const Tensor& tensor : buckets[bucket].tensors) {
    if (tensor.name.ends_with(suffix)) {
      return tensor;
    }
  }
  ensure(false, ("no tensor " + suffix).c_str());
  return buckets[0].tensors[0];
}

Layout make_layout(const ModelSizes& sizes, int dense_parts, int expert_parts, int first_expert,
                   int local_experts) {
  const std::int64_t h = sizes.hidden, v = sizes.vocab, s = sizes.sequence;
  const float deviation = 0.02f;
  // Into the residual stream: smaller with depth, as usual.
  const float output = deviation / std::sqrt(2.0f * static_cast<float>(sizes.layers));
  Builder make;
  make.layout.layers = sizes.layers;
  make.layout.moe = sizes.experts > 0;
  make.open("embedding");
  make.tensor("embedding.word_embeddings.weight", {v, h}, deviation, 0, 1);
  make.tensor("embedding.position_embeddings.weight", {s, h}, deviation, 0, 2);
  make.close(dense_parts);
  for (int i = 0; i < sizes.layers; ++i) {
    const bool moe = sizes.experts > 0 && i == sizes.layers - 1;
    const std::string at = "decoder.layers." + std::to_string(i) + ".";
    const std::uint64_t number = 16 + 16 * static_cast<std::uint64_t>(i);
    make.open("layer " + std::to_string(i));
    make.tensor(at + "self_attention.linear_qkv.layer_norm_weight", {h}, 0, 1, number);
    make.tensor(at + "self_attention.linear_qkv.layer_norm_bias", {h}, 0, 0, number + 1);
    make.tensor(at + "self_attention.linear_qkv.weight", {3 * h, h}, deviation, 0, number + 2);
    make.tensor(at + "self_attention.linear_proj.weight", {h, h}, output, 0, number + 3);
    const std::string norm = moe ? "pre_mlp_layernorm." : "mlp.linear_fc1.layer_norm_";
    make.tensor(at + norm + "weight", {h}, 0, 1, number + 4);
    make.tensor(at + norm + "bias", {h}, 0, 0, number + 5);
    if (moe) {
      make.tensor(at + "mlp.router.weight", {sizes.experts, h}, deviation, 0, number + 6);
    } else {
      make.tensor(at + "mlp.linear_fc1.weight", {4 * h, h}, deviation, 0, number + 6);
      make.tensor(at + "mlp.linear_fc2.weight", {h, 4 * h}, output, 0, number + 7);
    }
    make.close(dense_parts);
  }
  if (sizes.experts > 0) {
    const std::string at = "decoder.layers." + std::to_string(sizes.layers - 1) + ".mlp.experts.";
    make.open("experts", true);
    for (int e = first_expert; e < first_expert + local_experts; ++e) {
      const std::uint64_t number = 1000000 + 2 * static_cast<std::uint64_t>(e);
      make.tensor(at + "linear_fc1.weight" + std::to_string(e), {4 * h, h}, deviation, 0, number);
      make.tensor(at + "linear_fc2.weight" + std::to_string(e), {h, 4 * h}, output, 0, number + 1);
    }
    make.close(expert_parts);
  }
  make.open("head");
  make.tensor("decoder.final_layernorm.weight", {h}, 0, 1, 3);
  make.tensor("decoder.final_layernorm.bias", {h}, 0, 0, 4);
  make.tensor("output_layer.weight", {v, h}, deviation, 0, 5);
  make.close(dense_parts);
  return std::move(make.layout);
}

Range part_of(std::size_t count, int parts, int index) {
  ensure(count % static_cast<std::size_t>(parts) == 0, "bucket padding");
  const std::size_t size = count / static_cast<std::size_t>(parts);
  return {static_cast<std::size_t>(index) * size, (static_cast<std::size_t>(index) + 1) * size};
}

std::vector<Box> boxes_of(const std::vector<std::int64_t>& shape, std::size_t begin,
                          std::size_t end) {
  std::vector<Box> boxes;
  if (begin >= end) {
    return boxes;
  }
  // strides[d]: elements of one step of dimension d.
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * static_cast<std::size_t>(shape[d]);
  }
  while (begin < end) {
    // The outermost dimension in which a whole step fits from an aligned start.
    std::size_t d = 0;
    while (d + 1 < shape.size() && (begin % strides[d] != 0 || begin + strides[d] > end)) {
      ++d;
    }
    Box box;
    std::size_t rest = begin;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      box.offsets.push_back(static_cast<std::int64_t>(rest / strides[i]));
      rest %= strides[i];
      box.sizes.push_back(i < d ? 1 : shape[i]);
    }
    // As many steps of d as fit before its end and before `end`.
    const std::size_t left = static_cast<std::size_t>(shape[d] - box.offsets[d]);
    const std::size_t steps = std::min(left, (end - begin) / strides[d]);
    box.sizes[d] = static_cast<std::int64_t>(steps);
    box.first = begin;
    box.count = steps * strides[d];
    begin += box.count;
    boxes.push_back(std::move(box));
  }
  return boxes;
}

}  // namespace shardlint::ranks
