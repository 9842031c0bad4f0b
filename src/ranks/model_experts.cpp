// The last layer's mixture of experts. Tokens of the whole expert group are gathered, every rank
// runs its own experts over them, and the weighted results are summed back to the tokens' owners.
// Backward runs the experts forward again instead of keeping their activations.

#include "base/error.h"
#include "ranks/model.h"

namespace shardlint::ranks {

namespace {

template <typename T>
std::span<T> own_part(std::span<T> whole, const Comm& group) {
  const std::size_t size = whole.size() / static_cast<std::size_t>(group.size());
  return whole.subspan(size * static_cast<std::size_t>(group.rank()), size);
}

// Integers travel as the floats with the same bits: nothing is computed with them on the way.
std::span<float> as_floats(std::span<std::int32_t> data) {
  return {reinterpret_cast<float*>(data.data()), data.size()};
}

std::string expert_name(const char* matrix, int expert) {
  return std::string(matrix) + ".weight" + std::to_string(expert);
}

}  // namespace

void Model::experts_forward(std::span<const bf16> x) {
  const Layout& layout = parameters_.layout();
  Comm& group = *groups_.expert;
  copy_within(moe_.normed.all().data(), x.data(), x.size_bytes(), compute_);
  copy_within(own_part(moe_.x.all(), group).data(), x.data(), x.size_bytes(), compute_);
  route(compute_, own_part(moe_.probabilities.all(), group), own_part(moe_.chosen.all(), group),
        moe_.router.all(), sizes_.experts, sizes_.top_k);
  group.all_gather(moe_.x.all(), compute_);
  group.all_gather(moe_.probabilities.all(), compute_);
  group.all_gather(as_floats(moe_.chosen.all()), compute_);
  const std::size_t bucket = layout.experts();
  const Weights w = parameters_.weights(bucket, layout.head());
  const int t = moe_.tokens, h = sizes_.hidden;
  clear_floats(moe_.sum.all());
  for (int e = moe_.first; e < moe_.first + moe_.local; ++e) {
    select_rows(compute_, moe_.routed.all(), moe_.x.all(), moe_.chosen.all(), e, sizes_.top_k, h);
    linear(compute_, moe_.up.all(), moe_.routed.all(),
           tensor(bucket, w, expert_name("linear_fc1", e).c_str()), t, 4 * h, h);
    gelu(compute_, moe_.act.all(), moe_.up.all());
    linear(compute_, moe_.y.all(), moe_.act.all(),
           tensor(bucket, w, expert_name("linear_fc2", e).c_str()), t, h, 4 * h);
    combine_rows(compute_, moe_.sum.all(), moe_.y.all(), moe_.probabilities.all(),
                 moe_.chosen.all(), e, sizes_.experts, sizes_.top_k, h, true);
  }
  parameters_.release(bucket);
  const std::span<float> mine = own_part(moe_.sum.all(), group);
  group.reduce_scatter(moe_.sum.all(), mine, Reduce::sum, compute_);
  round_to_bf16(compute_, grad_, mine);
}

void Model::experts_backward(std::span<bf16> dx, std::span<const bf16> dy) {
  const Layout& layout = parameters_.layout();
  Comm& group = *groups_.expert;
  const std::size_t bucket = layout.experts();
  const Weights w = parameters_.weights(bucket, layout.layer(sizes_.layers - 1));
  const Parameters::Gradient gradient = parameters_.gradient(bucket);
  const int t = moe_.tokens, h = sizes_.hidden;
  widen_to_float(compute_, own_part(moe_.sum.all(), group), dy);
  group.all_gather(moe_.sum.all(), compute_);
  clear_floats(moe_.dprobabilities.all());
  clear_floats(moe_.dx.all());
  for (int e = moe_.first; e < moe_.first + moe_.local; ++e) {
    const std::string up_name = expert_name("linear_fc1", e);
    const std::string down_name = expert_name("linear_fc2", e);
    const Weights up = tensor(bucket, w, up_name.c_str());
    const Weights down = tensor(bucket, w, down_name.c_str());
    select_rows(compute_, moe_.routed.all(), moe_.x.all(), moe_.chosen.all(), e, sizes_.top_k, h);
    linear(compute_, moe_.up.all(), moe_.routed.all(), up, t, 4 * h, h);
    gelu(compute_, moe_.act.all(), moe_.up.all());
    linear(compute_, moe_.y.all(), moe_.act.all(), down, t, h, 4 * h);
    combine_grad(compute_, moe_.dy.all(), moe_.dprobabilities.all(), moe_.sum.all(), moe_.y.all(),
                 moe_.probabilities.all(), moe_.chosen.all(), e, sizes_.experts, sizes_.top_k, h);
    linear_grad_weight(compute_, tensor(bucket, gradient.data, down_name.c_str()), moe_.dy.all(),
                       moe_.act.all(), t, h, 4 * h, !gradient.fresh);
    linear_grad_input(compute_, moe_.act.all(), moe_.dy.all(), down, t, h, 4 * h);
    // act becomes the gradient of up; up itself is not needed again, so it takes the second output.
    gelu_grad(compute_, moe_.act.all(), moe_.up.all(), moe_.act.all(), moe_.up.all());
    linear_grad_weight(compute_, tensor(bucket, gradient.data, up_name.c_str()), moe_.act.all(),
                       moe_.routed.all(), t, 4 * h, h, !gradient.fresh);
    linear_grad_input(compute_, moe_.y.all(), moe_.act.all(), up, t, 4 * h, h);
    combine_rows(compute_, moe_.dx.all(), moe_.y.all(), {}, moe_.chosen.all(), e, sizes_.experts,
                 sizes_.top_k, h, true);
  }
  parameters_.release(bucket);
  parameters_.gradient_complete(bucket);
  const std::span<float> mine = own_part(moe_.dx.all(), group);
  group.reduce_scatter(moe_.dx.all(), mine, Reduce::sum, compute_);
  round_to_bf16(compute_, dx, mine);
  const std::span<float> scores = own_part(moe_.dprobabilities.all(), group);
  group.reduce_scatter(moe_.dprobabilities.all(), scores, Reduce::sum, compute_);
  route_grad(compute_, moe_.drouter.all(), scores, own_part(moe_.probabilities.all(), group),
             sizes_.experts);
}

}  // namespace shardlint::ranks
