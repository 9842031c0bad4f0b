#include "ranks/run.h"

#include <cmath>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "ranks/progress.h"
#include "ranks/random.h"

namespace shardlint::ranks {

namespace {

Layout layout_for(const Rank& rank, const Groups& groups, const RunSpec& spec) {
  const bool cut = spec.strategy != Strategy::no_shard;
  const int ep = groups.expert->size();
  const int local = rank.plan.model.experts / ep;
  return make_layout(rank.plan.model, cut ? groups.shard->size() : 1,
                     cut ? groups.expert_data->size() : 1, groups.expert->rank() * local, local);
}

ShardOptions options_for(const Rank& rank, const RunSpec& spec) {
  const ParallelPlan& p = rank.plan.parallel;
  return {spec.strategy,
          p.overlap_param_gather,
          p.overlap_grad_reduce,
          p.reduce_in_bf16 && !spec.by_itself,
          p.average_in_collective && !spec.by_itself,
          spec.timed};
}

void read_exactly(int file, void* data, std::size_t bytes, std::size_t offset,
                  const std::string& path) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::pread(file, at, bytes, static_cast<off_t>(offset));
    if (got <= 0) {
      throw Error("read " + path + ": shorter than the plan needs");
    }
    at += got;
    offset += static_cast<std::size_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

struct File {
  explicit File(const std::string& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) {
      throw Error("open " + path + ": " + std::strerror(errno));
    }
  }
  ~File() { ::close(descriptor); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor;
};

// float32 weights in the order of the layout, without padding.
void load_weights(const std::string& path, Parameters& parameters, Stream& stream) {
  const File file(path);
  std::size_t at = 0;
  std::vector<float> values;
  for (std::size_t b = 0; b < parameters.layout().buckets.size(); ++b) {
    const Parameters::State state = parameters.state(b);
    for (const Tensor& tensor : parameters.layout().buckets[b].tensors) {
      const std::size_t begin = std::max(state.range.begin, tensor.offset);
      const std::size_t end = std::min(state.range.end, tensor.offset + tensor.count);
      if (begin < end) {
        values.resize(end - begin);
        read_exactly(file.descriptor, values.data(), values.size() * sizeof(float),
                     (at + begin - tensor.offset) * sizeof(float), path);
        copy_in(state.main.data() + (begin - state.range.begin), values.data(),
                values.size() * sizeof(float), stream);
        stream.synchronize();
      }
      at += tensor.count;
    }
  }
  parameters.publish();
}

}  // namespace

Groups Rank::groups(bool by_itself) const {
  if (by_itself) {
    return {alone, alone, alone, alone, alone};
  }
  return {shard, outer, world, expert_data, expert};
}

std::unique_ptr<Rank> join(const Plan& plan, Store& store, int rank, int size, Report& report) {
  auto made = std::unique_ptr<Rank>(
      new Rank{plan, store, rank, size, {}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
  const ParallelPlan& p = plan.parallel;
  const auto refuse = [&](const std::string& what, const std::string& why) {
    report.not_exercised.emplace_back(what, why);
  };
  if (p.outer_size > 1) {
    if (size < 4 || size % p.outer_size != 0 || size / p.outer_size < 2) {
      refuse("outer_size " + std::to_string(p.outer_size),
             "needs at least 4 ranks and 2 in each replica; there are " + std::to_string(size));
    } else {
      made->outer_size = p.outer_size;
      if (p.outer_strategy != "no_shard") {
        refuse("outer_strategy " + p.outer_strategy,
               "the trainer keeps whole optimizer state in every replica");
      }
    }
  }
  if (p.expert_parallel > 1) {
    if (size % p.expert_parallel != 0 || plan.model.experts % p.expert_parallel != 0 ||
        plan.model.experts == 0) {
      refuse("expert_parallel " + std::to_string(p.expert_parallel),
             "does not divide " + std::to_string(size) + " ranks and " +
                 std::to_string(plan.model.experts) + " experts");
    } else if (made->outer_size > 1) {
      refuse("expert_parallel " + std::to_string(p.expert_parallel),
             "not combined with outer_size by the trainer");
    } else {
      made->expert_parallel = p.expert_parallel;
    }
  }
  const auto group = [&](const std::string& name, int index, int members, int number) -> Comm* {
    if (members == 1 && made->alone != nullptr) {
      return made->alone;
    }
    if (members == size && made->world != nullptr) {
      return made->world;
    }
    move_on("join " + name);
    made->comms.push_back(std::make_unique<Comm>(
        store, "comm/" + name + "/" + std::to_string(number), index, members));
    return made->comms.back().get();
  };
  made->alone = group("alone", 0, 1, rank);
  made->world = group("world", rank, size, 0);
  const int inner = size / made->outer_size, ep = made->expert_parallel;
  made->shard = group("shard", rank % inner, inner, rank / inner);
  made->outer = group("outer", rank / inner, made->outer_size, rank % inner);
  made->expert = group("expert", rank % ep, ep, rank / ep);
  made->expert_data = group("expert_data", rank / ep, size / ep, rank % ep);
  return made;
}

std::vector<float> gather_values(Rank& rank, float value) {
  Stream stream;
  std::vector<float> host(static_cast<std::size_t>(rank.size), 0.0f);
  host[static_cast<std::size_t>(rank.rank)] = value;
  Buffer<float> device(host.size(), Use::other);
  copy_in(device.all().data(), host.data(), host.size() * sizeof(float), stream);
  rank.world->all_gather(device.all(), stream);
  rank.world->wait(stream);
  copy_out(host.data(), device.all().data(), host.size() * sizeof(float), stream);
  return host;
}

void meet(Rank& rank) {
  gather_values(rank, 0);
}

Run::Run(Rank& rank, const RunSpec& spec)
    : rank_(rank),
      spec_(spec),
      groups_(rank.groups(spec.by_itself)),
      parameters_(layout_for(rank, groups_, spec), groups_, options_for(rank, spec), compute_),
      model_(rank.plan.model, rank.plan.train.micro_batch, parameters_, groups_, compute_),
      results_(2, Use::other),
      factor_(1, Use::other) {
  record_.name = spec.name;
  record_.strategy = name_of(spec.strategy);
  record_.outer_size = spec.by_itself ? 1 : rank.outer_size;
  record_.ranks = groups_.data->size();
  record_.warm_up = rank.plan.train.warm_up;
  const TrainPlan& train = rank.plan.train;
  record_.tokens_a_step = static_cast<std::uint64_t>(train.micro_batch) *
                          static_cast<std::uint64_t>(train.micro_batches) *
                          static_cast<std::uint64_t>(rank.plan.model.sequence) *
                          static_cast<std::uint64_t>(rank.size);
  move_on(spec.name + " first weights");
  parameters_.initialise(rank.plan.seed);
  if (!rank.plan.initial_weights.empty()) {
    load_weights(rank.plan.initial_weights, parameters_, compute_);
  }
}

std::vector<std::int32_t> Run::tokens(int step, int data_rank, int micro) const {
  const Plan& plan = rank_.plan;
  const std::size_t count = static_cast<std::size_t>(plan.train.micro_batch) *
                            static_cast<std::size_t>(plan.model.sequence + 1);
  std::vector<std::int32_t> list(count);
  const int number = plan.train.fixed_batch ? 0 : step;
  if (!plan.batches.empty()) {
    const File file(plan.batches);
    const std::size_t batch =
        (static_cast<std::size_t>(number) * static_cast<std::size_t>(rank_.size) +
         static_cast<std::size_t>(data_rank)) *
            static_cast<std::size_t>(plan.train.micro_batches) +
        static_cast<std::size_t>(micro);
    read_exactly(file.descriptor, list.data(), count * sizeof(std::int32_t),
                 batch * count * sizeof(std::int32_t), plan.batches);
    for (const std::int32_t token : list) {
      if (token < 0 || token >= plan.model.vocab) {
        throw Error("read " + plan.batches + ": token " + std::to_string(token) +
                    " is outside the vocabulary");
      }
    }
    return list;
  }
  const std::uint64_t key = mix(plan.seed ^ mix((static_cast<std::uint64_t>(number) << 32) ^
                                                (static_cast<std::uint64_t>(data_rank) << 16) ^
                                                static_cast<std::uint64_t>(micro)));
  for (std::size_t i = 0; i < count; ++i) {
    list[i] =
        static_cast<std::int32_t>(mix(key ^ i) % static_cast<std::uint64_t>(plan.model.vocab));
  }
  return list;
}

void Run::inject(int number) {
  parameters_.spoil(Parameters::Spoil::nothing, 1);
  if (!spec_.faults) {
    return;
  }
  for (const Fault& fault : rank_.plan.faults) {
    if (fault.rank != rank_.rank || fault.step != number) {
      continue;
    }
    if (fault.kind == "nan_gradient") {
      parameters_.spoil(Parameters::Spoil::nan, 1);
    } else if (fault.kind == "scale_gradient") {
      parameters_.spoil(Parameters::Spoil::scaled, static_cast<float>(fault.factor));
    } else if (fault.kind == "kill") {
      ::kill(::getpid(), SIGKILL);
    } else if (fault.kind == "stop") {
      ::kill(::getpid(), SIGSTOP);
    } else if (fault.kind == "hang") {
      move_on("injected hang");
      for (;;) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
      }
    }
  }
}

void Run::corrupt_shard(int number) {
  for (const Fault& fault : rank_.plan.faults) {
    if (spec_.faults && fault.kind == "corrupt_shard" && fault.rank == rank_.rank &&
        fault.step == number) {
      const Parameters::State state = parameters_.state(parameters_.layout().layer(0));
      const std::size_t half = state.main.size() / 2;
      fill_value(compute_, state.main.subspan(half, std::min<std::size_t>(half, 4096)), 1.0f);
      parameters_.publish();
    }
  }
}

StepResult Run::step(int number) {
  const TrainPlan& train = rank_.plan.train;
  const int data_ranks = rank_.size;
  const int micro_batches = train.micro_batches * (spec_.by_itself ? data_ranks : 1);
  const float share = 1.0f / static_cast<float>(train.micro_batches * data_ranks);
  const bool average = rank_.plan.parallel.average_in_collective && !spec_.by_itself;
  const float grad_share = average ? 1.0f / static_cast<float>(train.micro_batches) : share;
  move_on(spec_.name + " step " + std::to_string(number));
  inject(number);
  begun_.record(compute_);
  clear(results_.all().data(), 2 * sizeof(float), compute_);
  for (int m = 0; m < micro_batches; ++m) {
    const int data_rank = spec_.by_itself ? m / train.micro_batches : rank_.rank;
    const Batch batch = make_batch(tokens(number, data_rank, m % train.micro_batches),
                                   train.micro_batch, rank_.plan.model.sequence);
    parameters_.start_micro_batch(m == 0, m + 1 == micro_batches);
    model_.forward_backward(batch, results_.all().first(1), share, grad_share);
  }
  groups_.data->all_reduce(results_.all().first(1), Reduce::sum, compute_);
  parameters_.reduce_norm(results_.all().subspan(1));
  std::span<const float> factor;
  if (train.clip > 0) {
    clip_factor(compute_, factor_.all(), results_.all().subspan(1), static_cast<float>(train.clip));
    factor = factor_.all();
  }
  parameters_.update({static_cast<float>(train.learning_rate), static_cast<float>(train.beta1),
                      static_cast<float>(train.beta2), static_cast<float>(train.epsilon),
                      static_cast<float>(train.weight_decay), number + 1},
                     factor);
  corrupt_shard(number);
  ended_.record(compute_);
  move_on(spec_.name + " step " + std::to_string(number) + " wait for the device");
  groups_.data->wait(compute_);
  float host[2];
  copy_out(host, results_.all().data(), sizeof host, compute_);
  const StepResult result{host[0], std::sqrt(static_cast<double>(host[1])),
                          milliseconds_between(begun_, ended_), parameters_.exposed_ms()};
  record_.loss.push_back(result.loss);
  record_.grad_norm.push_back(result.grad_norm);
  record_.step_ms.push_back(result.ms);
  if (spec_.timed) {
    record_.exposed_ms.push_back(result.exposed_ms);
  }
  next_step_ = number + 1;
  if (rank_.first()) {
    const auto number_text = [](double value) {
      char text[40];
      std::snprintf(text, sizeof text, "%.9g", value);
      return std::isfinite(value) ? std::string(text) : "null";
    };
    emit("step", "\"rank\":0,\"phase\":" + quoted(current_phase(0)) +
                     ",\"run\":" + quoted(spec_.name) + ",\"step\":" + std::to_string(number) +
                     ",\"loss\":" + number_text(result.loss) + ",\"grad_norm\":" +
                     number_text(result.grad_norm) + ",\"ms\":" + number_text(result.ms));
  }
  return result;
}

std::uint64_t Run::digest_of_weights() {
  Buffer<std::uint64_t> hash(1, Use::other);
  clear(hash.all().data(), sizeof(std::uint64_t), compute_);
  for (std::size_t b = 0; b < parameters_.layout().buckets.size(); ++b) {
    if (parameters_.layout().buckets[b].expert && rank_.expert_parallel > 1) {
      continue;  // different experts on every rank of the group
    }
    const Weights weights = parameters_.weights(b, std::nullopt);
    for (const Tensor& tensor : parameters_.layout().buckets[b].tensors) {
      const Weights values = weights.subspan(tensor.offset, tensor.count);
      hash_bits(compute_, hash.all(),
                {reinterpret_cast<const std::uint32_t*>(values.data()), values.size() / 2},
                tensor.number << 32);
    }
    parameters_.release(b);
  }
  std::uint64_t digest = 0;
  groups_.data->wait(compute_);
  copy_out(&digest, hash.all().data(), sizeof digest, compute_);
  return digest;
}

}  // namespace shardlint::ranks
