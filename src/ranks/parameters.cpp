#include "ranks/parameters.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ranks/progress.h"

namespace shardlint::ranks {

namespace {

std::size_t largest(const Layout& layout, std::size_t first, std::size_t last) {
  std::size_t count = 0;
  for (std::size_t b = first; b <= last; ++b) {
    count = std::max(count, layout.buckets[b].count);
  }
  return count;
}

}  // namespace

MemoryAccount& memory_account() {
  thread_local MemoryAccount account;
  return account;
}

Comm& Parameters::group_of(std::size_t bucket) const {
  return layout_.buckets[bucket].expert ? *groups_.expert_data : *groups_.shard;
}

Parameters::Parameters(Layout layout, const Groups& groups, const ShardOptions& options,
                       Stream& compute)
    : layout_(std::move(layout)), groups_(groups), options_(options), compute_(compute) {
  const bool gathered = options.strategy == Strategy::optim_grads_params;
  const bool whole_gradients =
      options.strategy == Strategy::no_shard || options.strategy == Strategy::optim;
  for (std::size_t b = 0; b < layout_.buckets.size(); ++b) {
    const std::size_t count = layout_.buckets[b].count;
    Comm& group = group_of(b);
    Kept kept;
    kept.range = sharded() ? part_of(count, group.size(), group.rank()) : Range{0, count};
    kept.main = Buffer<float>(kept.range.size(), Use::parameters);
    kept.first = Buffer<float>(kept.range.size(), Use::optimizer);
    kept.second = Buffer<float>(kept.range.size(), Use::optimizer);
    kept.gradient = Buffer<float>(whole_gradients ? count : kept.range.size(), Use::gradients);
    kept.weights = Buffer<bf16>(gathered ? 0 : count, Use::parameters);
    kept_.push_back(std::move(kept));
  }
  const std::size_t layer = largest(layout_, layout_.layer(0), layout_.layer(layout_.layers - 1));
  const std::size_t ends =
      std::max(layout_.buckets[0].count, layout_.buckets[layout_.head()].count);
  const std::size_t experts = layout_.moe ? layout_.buckets[layout_.experts()].count : 0;
  slots_.resize(4);
  gradient_slots_.resize(4);
  if (gathered) {
    slots_[0].weights = Buffer<bf16>(layer, Use::gather);
    slots_[1].weights = Buffer<bf16>(layout_.layers > 1 ? layer : 0, Use::gather);
    slots_[2].weights = Buffer<bf16>(ends, Use::gather);
    slots_[3].weights = Buffer<bf16>(experts, Use::gather);
  }
  if (!whole_gradients) {
    gradient_slots_[0].data =
        Buffer<float>(std::max(layer, layout_.buckets[layout_.head()].count), Use::gather);
    gradient_slots_[1].data = Buffer<float>(layer, Use::gather);
    gradient_slots_[3].data = Buffer<float>(experts, Use::gather);
  }
  borrowed_.resize(layout_.buckets.size());
  if (options_.reduce_in_bf16) {
    reduce_scratch_ = Buffer<bf16>(std::max({layer, ends, experts}), Use::gather);
  }
  squares_ = Buffer<float>(layout_.buckets.size() + 1, Use::other);
  scratch_ = Buffer<float>(reduction_scratch, Use::other);
}

Parameters::~Parameters() {
  try {  // nothing may be freed under a running kernel
    compute_.synchronize();
    gather_stream_.synchronize();
    reduce_stream_.synchronize();
  } catch (...) {
  }
}

// Layers alternate between two slots: while one computes, the next arrives.
Parameters::Slot& Parameters::slot_of(std::size_t bucket) {
  if (layout_.moe && bucket == layout_.experts()) {
    return slots_[3];
  }
  return bucket == layout_.embedding() || bucket == layout_.head() ? slots_[2]
                                                                   : slots_[(bucket - 1) % 2];
}

// Backward order is head, last layer, ..., first layer, embedding: neighbours never share.
Parameters::GradientSlot& Parameters::gradient_slot_of(std::size_t bucket) {
  if (layout_.moe && bucket == layout_.experts()) {
    return gradient_slots_[3];
  }
  if (bucket == layout_.head()) {
    return gradient_slots_[0];
  }
  if (bucket == layout_.embedding()) {
    return gradient_slots_[2];
  }
  const std::size_t from_last = static_cast<std::size_t>(layout_.layers) - bucket;
  return gradient_slots_[from_last % 2 == 0 ? 1 : 0];
}

void Parameters::wait_timed(const Event& event) {
  if (!options_.timed) {
    compute_.wait_for(event);
    return;
  }
  if (waits_used_ == waits_.size()) {
    waits_.emplace_back(Event(true), Event(true));
  }
  auto& [before, after] = waits_[waits_used_++];
  before.record(compute_);
  compute_.wait_for(event);
  after.record(compute_);
}

double Parameters::exposed_ms() {
  double total = 0;
  for (std::size_t i = 0; i < waits_used_; ++i) {
    total += milliseconds_between(waits_[i].first, waits_[i].second);
  }
  waits_used_ = 0;
  return total;
}

void Parameters::gather(std::size_t bucket, std::span<bf16> whole) {
  Kept& kept = kept_[bucket];
  move_on("all_gather " + layout_.buckets[bucket].name);
  round_to_bf16(gather_stream_, whole.subspan(kept.range.begin, kept.range.size()),
                kept.main.all());
  if (quiet_) {
    gather_stream_.synchronize();
  }
  if (sharded()) {
    group_of(bucket).all_gather(whole, gather_stream_);
  }
  if (quiet_) {
    group_of(bucket).wait(gather_stream_);
  }
}

void Parameters::prefetch(std::size_t bucket) {
  Slot& slot = slot_of(bucket);
  if (slot.holder == bucket) {
    return;
  }
  ensure(!slot.in_use, "gather slot is in use");
  gather_stream_.wait_for(slot.free);
  slot.holder = bucket;
  gather(bucket, slot.weights.all().first(layout_.buckets[bucket].count));
  slot.ready.record(gather_stream_);
}

Weights Parameters::weights(std::size_t bucket, std::optional<std::size_t> next) {
  if (options_.strategy != Strategy::optim_grads_params) {
    wait_timed(kept_[bucket].ready);
    return kept_[bucket].weights.all();
  }
  if (quiet_) {
    compute_.synchronize();
  }
  prefetch(bucket);
  Slot& slot = slot_of(bucket);
  slot.in_use = true;
  wait_timed(slot.ready);
  if (next && options_.overlap_gather && !quiet_) {
    prefetch(*next);
  }
  return slot.weights.all().first(layout_.buckets[bucket].count);
}

void Parameters::release(std::size_t bucket) {
  if (options_.strategy == Strategy::optim_grads_params) {
    Slot& slot = slot_of(bucket);
    slot.in_use = false;
    slot.free.record(compute_);
  }
}

void Parameters::start_micro_batch(bool first, bool last) {
  first_micro_ = first;
  last_micro_ = last;
  // The embedding's gradient may still lie in activations that this pass will overwrite.
  compute_.wait_for(gradient_slots_[2].free);
}

Parameters::Gradient Parameters::gradient(std::size_t bucket, std::span<float> spare) {
  Kept& kept = kept_[bucket];
  const std::size_t count = layout_.buckets[bucket].count;
  std::span<float> data;
  bool fresh = true;
  if (!part_kept()) {
    data = kept.gradient.all();
    fresh = first_micro_;
  } else {
    GradientSlot& slot = gradient_slot_of(bucket);
    if (slot.data.size() < count && bucket == layout_.embedding()) {
      if (spare.size() >= count) {
        data = spare.first(count);
      } else {
        slot.data = Buffer<float>(count, Use::gather);
      }
    }
    compute_.wait_for(slot.free);
    if (data.empty()) {
      data = slot.data.all().first(count);
    }
  }
  if (fresh) {  // padding takes part in norms and updates
    const Tensor& last = layout_.buckets[bucket].tensors.back();
    const std::span<float> tail = data.subspan(last.offset + last.count);
    if (!tail.empty()) {
      clear(tail.data(), tail.size_bytes(), compute_);
    }
  }
  borrowed_[bucket] = data;
  return {data, fresh};
}

void Parameters::gradient_complete(std::size_t bucket) {
  if (!part_kept() && !last_micro_) {
    return;
  }
  Kept& kept = kept_[bucket];
  kept.reduced.record(compute_);
  reduce_stream_.wait_for(kept.reduced);
  if (quiet_) {
    compute_.synchronize();
  }
  reduce(bucket, borrowed_[bucket]);
  if (quiet_) {
    group_of(bucket).wait(reduce_stream_);
  }
  if (part_kept()) {
    gradient_slot_of(bucket).free.record(reduce_stream_);
  }
  kept.reduced.record(reduce_stream_);
  if (!options_.overlap_reduce) {
    wait_timed(kept.reduced);
  }
}

void Parameters::reduce(std::size_t bucket, std::span<float> whole) {
  Kept& kept = kept_[bucket];
  const bool expert = layout_.buckets[bucket].expert;
  Comm& group = group_of(bucket);
  move_on("reduce " + layout_.buckets[bucket].name);
  if (options_.average && expert && groups_.expert->size() > 1) {
    // The mean over the expert's replicas still counts every rank of the expert group.
    scale(reduce_stream_, whole, 1.0f / static_cast<float>(groups_.expert->size()));
  }
  if (spoil_ != Spoil::nothing) {
    spoil_ == Spoil::nan ? fill_value(reduce_stream_, whole.first(1), std::nanf(""))
                         : scale(reduce_stream_, whole, spoil_factor_);
  }
  const auto own = [&](auto span) { return span.subspan(kept.range.begin, kept.range.size()); };
  std::span<float> target = part_kept() && first_micro_ ? kept.gradient.all() : own(whole);
  if (options_.reduce_in_bf16) {
    const std::span<bf16> narrow = reduce_scratch_.all().first(whole.size());
    round_to_bf16(reduce_stream_, narrow, whole);
    if (sharded()) {
      group.reduce_scatter(narrow, own(narrow), reduction(), reduce_stream_);
    } else {
      (expert ? groups_.expert_data : groups_.data)
          ->all_reduce(narrow, reduction(), reduce_stream_);
    }
    widen_to_float(reduce_stream_, target, own(narrow));
  } else if (sharded()) {
    group.reduce_scatter(whole, target, reduction(), reduce_stream_);
  } else {
    (expert ? groups_.expert_data : groups_.data)->all_reduce(whole, reduction(), reduce_stream_);
  }
  if (part_kept() && !first_micro_) {
    add(reduce_stream_, kept.gradient.all(), target);
  }
  if (!last_micro_) {
    return;
  }
  const std::span<float> reduced = part_kept() ? kept.gradient.all() : own(kept.gradient.all());
  if (sharded() && !expert && groups_.outer->size() > 1) {
    groups_.outer->all_reduce(reduced, reduction(), reduce_stream_);
  }
  sum_squares(reduce_stream_, squares_.all().subspan(bucket, 1), scratch_.all(), reduced);
}

// Parts are disjoint within the group that a bucket is cut over; replicas must count once.
bool Parameters::owns_norm(std::size_t bucket) const {
  if (layout_.buckets[bucket].expert) {
    return sharded() || groups_.expert_data->rank() == 0;
  }
  return sharded() ? groups_.outer->rank() == 0 : groups_.data->rank() == 0;
}

void Parameters::reduce_norm(std::span<float> squares) {
  const std::span<float> each = squares_.all().first(layout_.buckets.size());
  for (std::size_t b = 0; b < each.size(); ++b) {
    if (!owns_norm(b)) {
      fill_value(reduce_stream_, each.subspan(b, 1), 0);
    }
  }
  sum(reduce_stream_, squares, scratch_.all(), each);
  groups_.data->all_reduce(squares, Reduce::sum, reduce_stream_);
  kept_[0].reduced.record(reduce_stream_);
  wait_timed(kept_[0].reduced);
}

void Parameters::update(const AdamW& options, std::span<const float> factor) {
  for (std::size_t b = 0; b < kept_.size(); ++b) {
    Kept& kept = kept_[b];
    adamw(compute_, kept.main.all(), kept.first.all(), kept.second.all(),
          part_kept() ? kept.gradient.all()
                      : kept.gradient.all().subspan(kept.range.begin, kept.range.size()),
          factor, options);
  }
  quiet_ = false;
  publish();
}

void Parameters::publish() {
  Event updated;
  updated.record(compute_);
  gather_stream_.wait_for(updated);
  for (Slot& slot : slots_) {
    slot.holder.reset();
  }
  if (options_.strategy == Strategy::optim_grads_params) {
    return;
  }
  for (std::size_t b = 0; b < kept_.size(); ++b) {
    gather(b, kept_[b].weights.all());
    kept_[b].ready.record(gather_stream_);
    if (!options_.overlap_gather) {
      wait_timed(kept_[b].ready);
    }
  }
}

Parameters::State Parameters::state(std::size_t bucket) {
  Kept& kept = kept_[bucket];
  return {kept.main.all(), kept.first.all(), kept.second.all(), kept.range};
}

std::span<float> Parameters::kept_gradient(std::size_t bucket) {
  return kept_[bucket].gradient.all();
}

void Parameters::initialise(std::uint64_t seed) {
  for (std::size_t b = 0; b < kept_.size(); ++b) {
    Kept& kept = kept_[b];
    clear(kept.main.all().data(), kept.main.all().size_bytes(), compute_);
    clear(kept.first.all().data(), kept.first.all().size_bytes(), compute_);
    clear(kept.second.all().data(), kept.second.all().size_bytes(), compute_);
    for (const Tensor& tensor : layout_.buckets[b].tensors) {
      const std::size_t begin = std::max(kept.range.begin, tensor.offset);
      const std::size_t end = std::min(kept.range.end, tensor.offset + tensor.count);
      if (begin >= end) {
        continue;
      }
      const std::span<float> mine = kept.main.all().subspan(begin - kept.range.begin, end - begin);
      if (tensor.deviation == 0) {
        fill_value(compute_, mine, tensor.constant);
      } else {
        fill_normal(compute_, mine, seed ^ (tensor.number << 40), begin - tensor.offset,
                    tensor.deviation);
      }
    }
  }
  publish();
}

}  // namespace shardlint::ranks
