#include <map>

#include "base/error.h"
#include "checkpoint/check_parts.h"
#include "checkpoint/reader.h"
#include "checkpoint/scan.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::size_t most_steps = 20'000;  // enough to see that two saves were mixed

}  // namespace

std::vector<Finding> check_steps(const Checkpoint& checkpoint) {
  std::map<double, std::pair<std::size_t, const Tensor*>> values;
  FilePool files;
  std::size_t read = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool counter = tensor.name.ends_with(".step") &&
                         part_of(tensor.name) == Part::optimizer && volume(tensor.shape) == 1 &&
                         size_of(tensor.dtype) != 0;
    if (!counter || tensor.chunks.empty() || ++read > most_steps) {
      continue;
    }
    try {
      const std::vector<std::byte> bytes = read_tensor(checkpoint, tensor, files);
      auto& [count, first] = values[element(tensor.dtype, bytes.data())];
      first = count++ == 0 ? &tensor : first;
    } catch (const Error&) {
      // what is wrong with the item is said where items are opened
    }
  }
  if (values.size() < 2) {
    return {};
  }
  const auto [low, few] = *values.begin();
  const auto [high, many] = *values.rbegin();
  const auto text = [](double value) { return std::to_string(static_cast<long long>(value)); };
  const Tensor& odd = few.first < many.first ? *few.second : *many.second;
  return {{Fault::optimizer_step,
           checkpoint.path(odd.chunks.front().place.file),
           {},
           odd.name,
           "step counters run from " + text(low) + " (" + std::to_string(few.first) +
               " parameters) to " + text(high) + " (" + std::to_string(many.first) +
               "): saves were mixed, or parameters joined later",
           {}}};
}

}  // namespace shardlint::checkpoint
