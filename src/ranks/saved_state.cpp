#include "ranks/saved_state.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/error.h"
#include "checkpoint/reader.h"
#include "ranks/progress.h"

namespace shardlint::ranks {

namespace {

using checkpoint::DType;

constexpr const char* moments[] = {"", ".exp_avg", ".exp_avg_sq"};

std::string key_of(const Tensor& tensor, int which) {
  return which == 0 ? "model.module." + tensor.name
                    : "optimizer.state.module.module.module." + tensor.name + moments[which];
}

std::vector<std::string> path_of(const Tensor& tensor, int which) {
  if (which == 0) {
    return {"model", "module." + tensor.name};
  }
  return {"optimizer", "state", "module.module.module." + tensor.name, moments[which] + 1};
}

// Where rank `other` stands: what its parts are, by arithmetic alone.
struct Seat {
  int dense_parts, dense_index, expert_parts, expert_index, first_expert, local_experts;
  bool writes_dense, writes_expert;  // replicas are written once
};

Seat seat_of(const Rank& rank, const Run& run, int other) {
  const RunSpec& spec = run.spec();
  const int experts = rank.plan.model.experts;
  if (spec.by_itself) {
    return {1, 0, 1, 0, 0, experts, other == 0, other == 0};
  }
  const int inner = rank.size / rank.outer_size, ep = rank.expert_parallel;
  const int local = experts / ep;
  const bool cut = spec.strategy != Strategy::no_shard;
  return {cut ? inner : 1,
          cut ? other % inner : 0,
          cut ? rank.size / ep : 1,
          cut ? other / ep : 0,
          other % ep * local,
          local,
          cut ? other / inner == 0 : other == 0,
          cut || other / ep == 0};
}

// Calls visit(tensor, box, bucket, which, offset in the part) for what a rank's parts hold.
void visit_boxes(
    const Layout& layout, const Seat& seat,
    const std::function<void(const Tensor&, const Box&, std::size_t, int, std::size_t)>& visit) {
  for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
    const Bucket& bucket = layout.buckets[b];
    const Range range = bucket.expert ? part_of(bucket.count, seat.expert_parts, seat.expert_index)
                                      : part_of(bucket.count, seat.dense_parts, seat.dense_index);
    for (const Tensor& tensor : bucket.tensors) {
      const std::size_t begin = std::max(range.begin, tensor.offset);
      const std::size_t end = std::min(range.end, tensor.offset + tensor.count);
      if (begin >= end) {
        continue;
      }
      for (const Box& box : boxes_of(tensor.shape, begin - tensor.offset, end - tensor.offset)) {
        for (int which = 0; which < 3; ++which) {
          visit(tensor, box, b, which, tensor.offset + box.first - range.begin);
        }
      }
    }
  }
}

checkpoint::Leaf arguments(const Rank& rank) {
  const ModelSizes& m = rank.plan.model;
  using Leaf = checkpoint::Leaf;
  const auto integer = [](std::int64_t value) { return Leaf{value}; };
  return Leaf{Leaf::Namespace{{{"num_layers", integer(m.layers)},
                               {"hidden_size", integer(m.hidden)},
                               {"num_attention_heads", integer(m.heads)},
                               {"padded_vocab_size", integer(m.vocab)},
                               {"max_position_embeddings", integer(m.sequence)},
                               {"seq_length", integer(m.sequence)},
                               {"add_position_embedding", Leaf{true}},
                               {"world_size", integer(rank.size)},
                               {"data_parallel_size", integer(rank.size)},
                               {"tensor_model_parallel_size", integer(1)},
                               {"pipeline_model_parallel_size", integer(1)},
                               {"use_megatron_fsdp", Leaf{true}},
                               {"ckpt_format", Leaf{std::string("fsdp_dtensor")}}}}};
}

float* pointer(const Snapshot::Part& part, int which) {
  return which == 0 ? part.main : which == 1 ? part.first : part.second;
}

}  // namespace

Snapshot::Snapshot(Snapshot&& other) noexcept
    : parts(std::move(other.parts)),
      memory(std::exchange(other.memory, nullptr)),
      floats(other.floats) {}

Snapshot::~Snapshot() {
  if (memory != nullptr) {
    pinned_release(memory);
  }
}

Snapshot make_snapshot(Run& run) {
  Snapshot snapshot;
  const std::size_t buckets = run.parameters().layout().buckets.size();
  for (std::size_t b = 0; b < buckets; ++b) {
    snapshot.floats += 3 * run.parameters().state(b).main.size();
  }
  snapshot.memory = static_cast<float*>(pinned_allocate(snapshot.floats * sizeof(float)));
  float* at = snapshot.memory;
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t count = run.parameters().state(b).main.size();
    snapshot.parts.push_back({at, at + count, at + 2 * count, count});
    at += 3 * count;
  }
  return snapshot;
}

void take_snapshot(Run& run, Snapshot& snapshot, Stream& stream) {
  for (std::size_t b = 0; b < snapshot.parts.size(); ++b) {
    const Parameters::State state = run.parameters().state(b);
    const Snapshot::Part& part = snapshot.parts[b];
    copy_out_later(part.main, state.main.data(), state.main.size_bytes(), stream);
    copy_out_later(part.first, state.first.data(), state.first.size_bytes(), stream);
    copy_out_later(part.second, state.second.data(), state.second.size_bytes(), stream);
  }
}

StateWriter::StateWriter(Rank& rank, Run& run, const std::string& directory, int iteration,
                         const std::string& save_id)
    : rank_(rank) {
  checkpoint::WritePlan plan;
  plan.ranks = static_cast<std::uint32_t>(run.spec().by_itself ? 1 : rank.size);
  plan.save_id = save_id;
  std::map<std::string, std::size_t> known;
  const std::vector<std::string> no_path;
  for (int other = 0; other < static_cast<int>(plan.ranks); ++other) {
    const Seat seat = seat_of(rank, run, other);
    const Layout layout = make_layout(rank.plan.model, seat.dense_parts, seat.expert_parts,
                                      seat.first_expert, seat.local_experts);
    visit_boxes(
        layout, seat,
        [&](const Tensor& tensor, const Box& box, std::size_t bucket, int which,
            std::size_t offset) {
          if (layout.buckets[bucket].expert ? !seat.writes_expert : !seat.writes_dense) {
            return;
          }
          const std::string key = key_of(tensor, which);
          const auto [found, fresh] = known.try_emplace(key, plan.tensors.size());
          if (fresh) {
            plan.tensors.push_back({key, DType::float32, tensor.shape, path_of(tensor, which)});
            if (which == 0) {
              const std::string owner = "module.module.module." + tensor.name;
              const TrainPlan& train = rank.plan.train;
              const auto meta = [&](const char* name, checkpoint::Leaf value) {
                plan.objects.push_back({"optimizer.param_to_group_meta." + owner + "." + name,
                                        std::move(value),
                                        {"optimizer", "param_to_group_meta", owner, name}});
              };
              meta("lr", {train.learning_rate});
              meta("weight_decay", {train.weight_decay});
              meta("step", {static_cast<std::int64_t>(iteration)});
            }
          }
          plan.shards.push_back(
              {found->second, static_cast<std::uint32_t>(other), box.offsets, box.sizes});
          bytes_ += box.count * sizeof(float);
          if (other == rank.rank) {
            sources_.push_back({bucket, which, offset});
          }
        });
  }
  plan.objects.push_back({"args", arguments(rank), {}});
  plan.objects.push_back({"iteration", {static_cast<std::int64_t>(iteration)}, {}});
  plan.objects.push_back({"checkpoint_version", {3.0}, {}});
  save_ = std::make_unique<checkpoint::Save>(directory, std::move(plan));
}

void StateWriter::write(const Snapshot& snapshot) const {
  std::size_t next = 0;
  save_->write_rank(
      static_cast<std::uint32_t>(rank_.rank), [&](const checkpoint::WriteShard& shard) {
        ensure(next < sources_.size(), "more shards than sources");
        const Source& source = sources_[next++];
        std::size_t count = 1;
        for (const std::int64_t length : shard.sizes) {
          count *= static_cast<std::size_t>(length);
        }
        return std::as_bytes(std::span<const float>(
            pointer(snapshot.parts[source.bucket], source.which) + source.offset, count));
      });
  ensure(next == sources_.size(), "fewer shards than sources");
}

void StateWriter::commit() const {
  save_->commit();
}

namespace {

// Visits this run's own boxes with the saved values of each.
void read_boxes(
    Run& run, const std::string& directory,
    const std::function<void(std::size_t, int, std::size_t, std::span<const float>)>& visit) {
  const checkpoint::Checkpoint saved = checkpoint::open_for_reading(directory);
  checkpoint::FilePool files;
  Parameters& parameters = run.parameters();
  std::vector<float> values;
  for (std::size_t b = 0; b < parameters.layout().buckets.size(); ++b) {
    const Range range = parameters.state(b).range;
    for (const Tensor& tensor : parameters.layout().buckets[b].tensors) {
      const std::size_t begin = std::max(range.begin, tensor.offset);
      const std::size_t end = std::min(range.end, tensor.offset + tensor.count);
      if (begin >= end) {
        continue;
      }
      move_on("read " + tensor.name);
      for (int which = 0; which < 3; ++which) {
        const std::string key = key_of(tensor, which);
        const checkpoint::Tensor* found = saved.find(key);
        if (found == nullptr || found->dtype != DType::float32 || found->shape != tensor.shape) {
          throw Error("reload " + directory + ": " + key + " is missing or of another shape");
        }
        for (const Box& box : boxes_of(tensor.shape, begin - tensor.offset, end - tensor.offset)) {
          values.resize(box.count);
          checkpoint::read_region(saved, *found, box.offsets, box.sizes,
                                  std::as_writable_bytes(std::span(values)), files);
          visit(b, which, tensor.offset + box.first - range.begin, values);
        }
      }
    }
  }
}

}  // namespace

void load_state(Run& run, const std::string& directory) {
  Stream& stream = run.compute();
  read_boxes(run, directory,
             [&](std::size_t bucket, int which, std::size_t offset, std::span<const float> values) {
               const Parameters::State state = run.parameters().state(bucket);
               const std::span<float> into = which == 0   ? state.main
                                             : which == 1 ? state.first
                                                          : state.second;
               copy_in(into.data() + offset, values.data(), values.size_bytes(), stream);
               stream.synchronize();
             });
  run.parameters().publish();
}

std::uint64_t count_differences(Run& run, const std::string& directory, const Snapshot& snapshot) {
  std::uint64_t count = 0;
  read_boxes(run, directory,
             [&](std::size_t bucket, int which, std::size_t offset, std::span<const float> values) {
               const float* kept = pointer(snapshot.parts[bucket], which) + offset;
               for (std::size_t i = 0; i < values.size(); ++i) {
                 count += std::memcmp(&values[i], &kept[i], sizeof(float)) != 0;
               }
             });
  return count;
}

}  // namespace shardlint::ranks
