// Tensors that hold the same bytes under different keys.
#include <unordered_map>

#include "checkpoint/item_check.h"

namespace shardlint::checkpoint {
namespace {

// "mp_rank_00_001/model.w" of formats with files for each rank; else the rank is empty.
std::pair<std::string_view, std::string_view> rank_and_key(std::string_view name) {
  const std::size_t end = name.find('/');
  return end != std::string_view::npos &&
                 (name.starts_with("mp_rank_") || name.starts_with("rank_"))
             ? std::pair(name.substr(0, end), name.substr(end + 1))
             : std::pair(std::string_view(), name);
}

// Tied embeddings, and a master copy that equals its parameter, are meant to be equal.
bool may_be_equal(const std::string& a, const std::string& b) {
  const auto has = [](const std::string& name, std::string_view word) {
    return name.find(word) != std::string::npos;
  };
  for (const std::string_view word : {"embed", "wte", "output_layer", "lm_head", "param."}) {
    if (has(a, word) || has(b, word)) {
      return true;
    }
  }
  const auto moment = [&](const std::string& name) { return has(name, "exp_avg"); };
  return !moment(a) && !moment(b) && (part_of(a) != Part::model || part_of(b) != Part::model);
}

}  // namespace

// Equal checksums of equal sizes under different keys; constants (zeros, ones) are equal by
// right. Parameters that are replicated over model-parallel ranks are equal under one key, so of
// those only a whole rank that equals another one is a finding.
void ItemCheck::same_bytes() {
  std::unordered_map<std::uint64_t, std::uint32_t> first;
  std::map<std::string, std::size_t, std::less<>> compared;  // tensors of a rank
  std::map<std::pair<std::string, std::string>, std::pair<std::size_t, std::uint32_t>> equal;
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    if (task.tensor == none || !task.has_crc || task.size < 1024 || !is_scanned(task.dtype)) {
      continue;
    }
    const Extremes& seen = seen_[task.tensor];
    if (seen.largest_signed == seen.smallest) {
      continue;
    }
    const Tensor& b = checkpoint_.tensors[task.tensor];
    const auto [rank_b, key_b] = rank_and_key(b.name);
    ++compared[std::string(rank_b)];
    const auto [found, fresh] = first.try_emplace(task.size * 0x9E3779B97F4A7C15 ^ task.crc, i);
    const Task& other = tasks_[found->second];
    if (fresh || other.tensor == task.tensor || other.crc != task.crc || other.size != task.size) {
      continue;
    }
    const Tensor& a = checkpoint_.tensors[other.tensor];
    const auto [rank_a, key_a] = rank_and_key(a.name);
    if (a.dtype != b.dtype || a.shape != b.shape) {
      continue;
    }
    if (rank_a != rank_b && key_a == key_b) {
      auto& [count, where] = equal[{std::string(rank_a), std::string(rank_b)}];
      ++count;
      where = i;
    } else if (!may_be_equal(a.name, b.name)) {
      findings_.push_back({Fault::identical_tensors,
                           path_of(task.file, task.archive),
                           task.offset,
                           b.name,
                           "holds the same bytes as " + a.name,
                           {}});
    }
  }
  for (const auto& [ranks, seen] : equal) {
    const auto& [count, where] = seen;
    if (count > 1 && count == compared[ranks.second]) {
      findings_.push_back({Fault::identical_tensors,
                           path_of(tasks_[where].file, tasks_[where].archive),
                           {},
                           "",
                           "all of its " + std::to_string(count) +
                               " larger tensors hold the same bytes as those of " + ranks.first,
                           {}});
    }
  }
}

}  // namespace shardlint::checkpoint
