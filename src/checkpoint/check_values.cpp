// Stage 3: with `deep` every byte read once: checksum and values in one pass over blocks that stay
// in the cache. Memory is a block a thread, whatever the tensors' sizes.
#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "checkpoint/checksum.h"
#include "checkpoint/item_check.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint64_t block_size =
    64 << 10;  // stays in the nearest caches between copy, checksum and scan
constexpr std::uint64_t piece_size = 16 << 20;  // what a thread takes at a time

}  // namespace

// Values that lie in no archive (safetensors): nothing but their numbers can be judged.
void ItemCheck::raw_tasks() {
  if (!checkpoint_.archives.empty()) {
    return;  // their records cover the raw chunks
  }
  for (const auto& [where, which] : raw_) {
    const Tensor& tensor = checkpoint_.tensors[which.first];
    const Chunk& chunk = tensor.chunks[which.second];
    if (survey_.holds(chunk.place) && chunk.place.length != 0) {
      tasks_.push_back({chunk.place.file, none, chunk.place.offset, chunk.place.length, 0, false,
                        tensor.dtype, which.first, which.second, none});
    }
  }
}

void ItemCheck::read_all() {
  std::sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
    return std::tie(a.file, a.archive, a.offset) < std::tie(b.file, b.archive, b.offset);
  });
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    total_ += tasks_[i].size;
    for (std::uint64_t begin = 0; begin < tasks_[i].size; begin += piece_size) {
      pieces_.push_back({i, begin, std::min(piece_size, tasks_[i].size - begin), 0, {}});
    }
  }
  in_parallel(pieces_.size(), [&](std::size_t i) { read_piece(pieces_[i]); });
  if (options_.progress && total_ != 0) {
    options_.progress(total_, total_);
  }
  seen_.resize(checkpoint_.tensors.size());
  for (std::size_t i = 0; i < pieces_.size();) {
    i = judge(i);
  }
  judge_tensors();
}

bool ItemCheck::is_second_moment(const Task& task) const {
  return task.tensor != none &&
         checkpoint_.tensors[task.tensor].name.find("exp_avg_sq") != std::string::npos;
}

void ItemCheck::read_piece(Piece& piece) {
  const Task& task = tasks_[piece.task];
  thread_local std::vector<std::byte> buffer(block_size);
  try {
    const std::shared_ptr<const File> file = files_.open(path_of(task.file, task.archive));
    const bool scan = is_scanned(task.dtype), second = is_second_moment(task);
    for (std::uint64_t at = 0; at < piece.size; at += block_size) {
      const std::span<std::byte> block(buffer.data(), std::min(block_size, piece.size - at));
      file->read(task.offset + piece.begin + at, block);
      if (task.has_crc) {
        piece.crc = crc32(piece.crc, block);
      }
      if (scan) {
        const Extremes seen = extremes(task.dtype, block);
        piece.seen.merge(seen);
        if (has_not_finite(task.dtype, seen) || (second && has_negative(task.dtype, seen))) {
          const Counts counts = count(task.dtype, block);
          const std::lock_guard lock(mutex_);
          counts_[piece.task].merge(counts, (piece.begin + at) / size_of(task.dtype));
        }
      }
      done_ += block.size();
    }
  } catch (const Error& error) {
    add({Fault::unreadable_bytes,
         path_of(task.file, task.archive),
         task.offset + piece.begin,
         name_of_task(task),
         error.what(),
         {}});
  }
}

std::string ItemCheck::name_of_task(const Task& task) const {
  return task.tensor != none ? checkpoint_.tensors[task.tensor].name
         : task.item != none ? checkpoint_.items[task.item].name
                             : "";
}

// All pieces of one task, from the first on; returns the index of the next task's first.
std::size_t ItemCheck::judge(std::size_t first) {
  const Task& task = tasks_[pieces_[first].task];
  std::uint32_t crc = pieces_[first].crc;
  Extremes seen = pieces_[first].seen;
  std::size_t next = first + 1;
  for (; next < pieces_.size() && pieces_[next].task == pieces_[first].task; ++next) {
    crc = crc32_joined(crc, pieces_[next].crc, pieces_[next].size);
    seen.merge(pieces_[next].seen);
  }
  const std::string file = path_of(task.file, task.archive), name = name_of_task(task);
  if (task.has_crc && crc != task.crc) {
    add({Fault::checksum,
         file,
         task.offset,
         name,
         "the checksum of its " + std::to_string(task.size) + " bytes at " +
             std::to_string(task.offset) + " does not match",
         {}});
  }
  if (task.tensor != none && is_scanned(task.dtype)) {
    seen_[task.tensor].merge(seen);
  }
  judge_values(pieces_[first].task, file, name);
  return next;
}

void ItemCheck::judge_values(std::uint32_t index, const std::string& file,
                             const std::string& name) {
  const auto found = counts_.find(index);
  const Task& task = tasks_[index];
  const Part part = part_of(name);
  if (found == counts_.end() || task.tensor == none || part == Part::other) {
    return;
  }
  const Counts& counts = found->second;
  // Buckets hold gaps between parameters, which start at multiples of 64 elements: memory that
  // was never written, saved as pieces of their own.
  const Chunk& chunk = checkpoint_.tensors[task.tensor].chunks[task.chunk];
  const bool padded = name.find("optimizer.distributed.") != std::string::npos;
  if (padded && volume(chunk.sizes).value_or(0) < 64) {
    return;
  }
  const std::string where = ", the first at element " + std::to_string(counts.first_bad) +
                            " of the piece at " + text_of(chunk.offsets);
  if (counts.nan + counts.infinite != 0) {
    const std::string what = std::to_string(counts.nan) + " NaN and " +
                             std::to_string(counts.infinite) + " infinite values" + where;
    const std::uint64_t at = task.offset + counts.first_bad * size_of(task.dtype);
    if (part == Part::model && !checkpoint_.role.ends_with("optimizer")) {
      // Masks are filled with infinities on purpose; weights never are.
      const bool mask = counts.nan == 0 && !name.ends_with("weight");
      add({Fault::nan_in_model, file, at, name, what,
           mask ? std::optional(Severity::warning) : std::nullopt});
    } else {
      add({Fault::nan_in_optimizer,
           file,
           at,
           name,
           what + (padded ? "; padding of buckets may hold anything" : ""),
           {}});
    }
  }
  if (is_second_moment(task) && counts.negative != 0) {
    add({Fault::negative_second_moment, file, task.offset, name,
         std::to_string(counts.negative) + " negative values",
         padded ? std::optional(Severity::warning) : std::nullopt});
  }
}

void ItemCheck::judge_tensors() {
  for (std::size_t t = 0; t < seen_.size(); ++t) {
    const Tensor& tensor = checkpoint_.tensors[t];
    const bool matrix =
        tensor.shape.size() >= 2 && std::count_if(tensor.shape.begin(), tensor.shape.end(),
                                                  [](std::int64_t n) { return n > 1; }) >= 2;

    if (!matrix || part_of(tensor.name) != Part::model || !tensor.name.ends_with("weight") ||
        tensor.name.find("lora") != std::string::npos ||
        tensor.name.find("adapter") != std::string::npos || tensor.chunks.empty()) {
      continue;
    }
    const std::string file = checkpoint_.path(tensor.chunks.front().place.file);
    if (all_zero(seen_[t])) {
      add({Fault::all_zero, file, {}, tensor.name, "all of its values are zero", {}});
    } else if (all_denormal(tensor.dtype, seen_[t])) {
      add({Fault::denormal, file, {}, tensor.name, "all of its values are zero or denormal", {}});
    }
  }
}

}  // namespace shardlint::checkpoint
