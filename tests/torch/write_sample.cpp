// Writes a checkpoint of every element type over a number of ranks, for torch to load:
//   write_sample DIRECTORY RANKS [MEBIBYTES]
// Byte i of a tensor is a fixed function of the tensor's position in the list and of i, so that
// the script that loads it can make the same bytes.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "checkpoint/writer.h"

using namespace shardlint;
using namespace shardlint::checkpoint;

namespace {

std::byte sample(std::size_t tensor, std::uint64_t i, DType dtype) {
  const auto value = static_cast<std::uint8_t>((i * 37 + tensor * 101 + (i >> 8) * 11) & 0xff);
  return static_cast<std::byte>(dtype == DType::boolean ? value & 1 : value);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: write_sample DIRECTORY RANKS [MEBIBYTES]\n");
    return 2;
  }
  const auto ranks = static_cast<std::uint32_t>(std::atoi(argv[2]));
  WritePlan plan;
  plan.ranks = ranks;
  const auto add = [&](std::string name, DType dtype, Shape shape) {
    plan.tensors.push_back({"model." + name, dtype, std::move(shape), {"model", name}});
  };
  const std::int64_t mebibytes = argc == 4 ? std::atoll(argv[3]) : 0;
  for (std::int64_t i = 0; i < mebibytes / 64; ++i) {
    const bool half = i % 2 == 0;
    add("layers." + std::to_string(i) + ".weight", half ? DType::bfloat16 : DType::float32,
        {4096, half ? 8192 : 4096});
  }
  for (int i = 0; mebibytes == 0 && i <= static_cast<int>(DType::complex32); ++i) {
    add("t_" + std::string(name_of(static_cast<DType>(i))), static_cast<DType>(i), {8, 6});
  }
  if (mebibytes == 0) {
    add("scalar", DType::float32, {});
    add("uneven", DType::float32, {5, 3});
    add("one_row", DType::bfloat16, {1, 3});
    add("four", DType::float32, {4, 2, 3, 5});
    add("none", DType::float32, {0, 4});
  }
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const Shape& shape = plan.tensors[t].shape;
    if (shape.empty() || shape[0] == 0) {
      plan.shards.push_back({t, 0, Shape(shape.size(), 0), shape});
      continue;
    }
    const std::int64_t rows = (shape[0] + ranks - 1) / ranks;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t begin = std::min<std::int64_t>(shape[0], rows * rank);
      Shape offsets(shape.size(), 0), sizes = shape;
      offsets[0] = begin;
      sizes[0] = std::min(shape[0] - begin, rows);
      if (sizes[0] != 0) {
        plan.shards.push_back({t, rank, offsets, sizes});
      }
    }
  }
  plan.objects = {
      {"step", {std::int64_t{7}}, {"step"}},
      {"optim.param_groups.0.lr", {0.25}, {"optim", "param_groups", "0", "lr"}},
      {"big", {std::int64_t{5'000'000'000}}, {"big"}},
      {"pair", {Leaf::Tuple{{Leaf{0.9}, Leaf{false}}}}, {"pair"}},
      {"args",
       {Leaf::Namespace{{{"hidden_size", {std::int64_t{64}}}, {"name", {std::string("tiny")}}}}},
       {"args"}}};
  const Save save(argv[1], plan);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<std::byte> buffer;
      save.write_rank(rank, [&](const WriteShard& shard) -> std::span<const std::byte> {
        const WriteTensor& tensor = plan.tensors[shard.tensor];
        std::uint64_t row = size_of(tensor.dtype);
        for (std::size_t d = 1; d < tensor.shape.size(); ++d) {
          row *= static_cast<std::uint64_t>(tensor.shape[d]);
        }
        const std::uint64_t begin =
            shard.offsets.empty() ? 0 : static_cast<std::uint64_t>(shard.offsets[0]) * row;
        buffer.resize(volume(shard.sizes).value() * size_of(tensor.dtype));
        for (std::uint64_t i = 0; i < buffer.size(); ++i) {
          buffer[i] = sample(shard.tensor, begin + i, tensor.dtype);
        }
        if (mebibytes != 0) {  // finite values: clear the top bit of every exponent
          for (std::uint64_t i = size_of(tensor.dtype) - 1; i < buffer.size();
               i += size_of(tensor.dtype)) {
            buffer[i] &= std::byte{0xbf};
          }
        }
        return buffer;
      });
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  save.commit();
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
