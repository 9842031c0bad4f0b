// Stages 2 and 3: every item opened, and with `deep` every byte read once: checksum and values in
// one pass over blocks that stay in the cache. Memory is a block a thread, whatever the tensors'
// sizes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/check_parts.h"
#include "checkpoint/checksum.h"
#include "checkpoint/item.h"
#include "checkpoint/scan.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint64_t block_size =
    64 << 10;  // stays in the nearest caches between copy, checksum and scan
constexpr std::uint64_t piece_size = 16 << 20;  // what a thread takes at a time
constexpr std::uint32_t none = UINT32_MAX;

// What is to be opened: a chunk of a tensor, an object, or a whole file of torch.save.
struct Unit {
  std::uint32_t tensor = none, chunk = 0, item = none, archive = none;
};

// Values to read.
struct Task {
  std::uint32_t file = none, archive = none;  // one of them
  std::uint64_t offset = 0, size = 0;
  std::uint32_t crc = 0;
  bool has_crc = false;
  DType dtype = DType::unknown;
  std::uint32_t tensor = none, chunk = 0, item = none;
};
struct Piece {
  std::uint32_t task = 0;
  std::uint64_t begin = 0, size = 0;
  std::uint32_t crc = 0;
  Extremes seen{};
};

class ItemCheck {
 public:
  ItemCheck(const Checkpoint& checkpoint, const Survey& survey, const ItemOptions& options)
      : checkpoint_(checkpoint), survey_(survey), options_(options) {
    threads_ =
        options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  }

  ItemResult run() {
    list_units();
    in_parallel(units_.size(), [&](std::size_t i) { open_unit(units_[i]); });
    signatures();
    if (options_.deep) {
      raw_tasks();
      read_all();
      same_bytes();
    }
    return {std::move(findings_), total_};
  }

 private:
  void add(Finding finding) {
    const std::lock_guard lock(mutex_);
    findings_.push_back(std::move(finding));
  }

  // Runs work(i) for every i; findings of the operating system's refusals are the work's own.
  template <typename Work>
  void in_parallel(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next = 0;
    std::size_t finished = 0;
    std::condition_variable ended;
    std::mutex waiting;
    const auto loop = [&] {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
      const std::lock_guard lock(waiting);
      ++finished;
      ended.notify_one();
    };
    const std::size_t workers = std::min<std::size_t>(threads_, count);
    std::vector<std::thread> pool;
    for (std::size_t i = 0; i < workers; ++i) {
      pool.emplace_back(loop);
    }
    std::unique_lock lock(waiting);
    while (!ended.wait_for(lock, std::chrono::milliseconds(100),
                           [&] { return finished == workers; })) {
      if (options_.progress && total_ != 0) {
        options_.progress(done_, total_);
      }
    }
    lock.unlock();
    for (std::thread& worker : pool) {
      worker.join();
    }
  }

  void list_units() {
    for (std::uint32_t t = 0; t < checkpoint_.tensors.size(); ++t) {
      const Tensor& tensor = checkpoint_.tensors[t];
      for (std::uint32_t c = 0; c < tensor.chunks.size(); ++c) {
        const Chunk& chunk = tensor.chunks[c];
        if (chunk.transformed) {
          findings_.push_back({Fault::item_transformed,
                               checkpoint_.path(chunk.place.file),
                               chunk.place.offset,
                               tensor.name,
                               "was transformed by the writer",
                               {}});
        } else if (!chunk.raw && chunk.place.length != 0 && survey_.holds(chunk.place)) {
          units_.push_back({t, c, none, none});
        }
      }
    }
    for (std::uint32_t i = 0; i < checkpoint_.items.size(); ++i) {
      const Item& item = checkpoint_.items[i];
      if (!item.transformed && item.place.length != 0 && survey_.holds(item.place)) {
        units_.push_back({none, 0, i, none});
      }
    }
    for (std::uint32_t i = 0; i < checkpoint_.archives.size(); ++i) {
      units_.push_back({none, 0, none, i});
    }
    std::sort(units_.begin(), units_.end(),
              [&](const Unit& a, const Unit& b) { return order(a) < order(b); });
    index_raw();
  }
  std::pair<std::uint32_t, std::uint64_t> order(const Unit& unit) const {
    const Place place = place_of(unit);
    return {place.file, place.offset};
  }
  Place place_of(const Unit& unit) const {
    return unit.tensor != none ? checkpoint_.tensors[unit.tensor].chunks[unit.chunk].place
           : unit.item != none ? checkpoint_.items[unit.item].place
                               : Place{};
  }

  // Raw chunks by place, to name the tensor that a record of a whole file holds.
  void index_raw() {
    for (std::uint32_t t = 0; t < checkpoint_.tensors.size(); ++t) {
      for (std::uint32_t c = 0; c < checkpoint_.tensors[t].chunks.size(); ++c) {
        const Chunk& chunk = checkpoint_.tensors[t].chunks[c];
        if (chunk.raw && chunk.place.file < checkpoint_.files.size()) {
          raw_[{checkpoint_.files[chunk.place.file], chunk.place.offset}] = {t, c};
        }
      }
    }
  }

  std::string path_of(std::uint32_t file, std::uint32_t archive) const {
    return archive != none ? join_path(checkpoint_.directory, checkpoint_.archives[archive])
                           : checkpoint_.path(file);
  }

  void open_unit(const Unit& unit) {
    const Place place = place_of(unit);
    Expected expected;
    expected.file = path_of(place.file, unit.archive);
    if (unit.tensor != none) {
      expected.tensor = &checkpoint_.tensors[unit.tensor];
      expected.chunk = &expected.tensor->chunks[unit.chunk];
      expected.key = expected.tensor->name;
    } else if (unit.item != none) {
      expected.key = checkpoint_.items[unit.item].name;
    }
    try {
      const std::shared_ptr<const File> file = files_.open(expected.file);
      const Window window{file, place.offset, unit.archive != none ? file->size() : place.length};
      Examined examined = examine(window, expected);
      const std::lock_guard lock(mutex_);
      std::move(examined.findings.begin(), examined.findings.end(), std::back_inserter(findings_));
      if (unit.tensor != none && !examined.signature.empty()) {
        signatures_[examined.signature].insert(place.file);
      }
      if (examined.without_crc) {
        ++without_crc_;
        // The same file whichever thread came last.
        without_crc_file_ = std::max(without_crc_file_, expected.file);
      }
      for (const ValueRecord& value : examined.values) {
        Task task{unit.archive != none ? none : place.file,
                  unit.archive,
                  value.offset,
                  value.size,
                  value.crc,
                  value.has_crc,
                  value.dtype,
                  unit.tensor,
                  unit.chunk,
                  unit.item};
        if (unit.archive != none) {
          if (const auto found =
                  raw_.lower_bound({checkpoint_.archives[unit.archive], value.offset});
              found != raw_.end() && found->first.first == checkpoint_.archives[unit.archive] &&
              found->first.second < value.offset + value.size) {
            task.tensor = found->second.first;
            task.chunk = found->second.second;
          }
        }
        tasks_.push_back(task);
      }
    } catch (const Error& error) {
      add({Fault::unreadable_bytes, expected.file, {}, expected.key, error.what(), {}});
    }
  }

  // All items of one save come from one version of torch and have the same records.
  void signatures() {
    if (without_crc_ != 0) {
      findings_.push_back({Fault::checksum_absent,
                           without_crc_file_,
                           {},
                           "",
                           std::to_string(without_crc_) + " items have no checksums",
                           {}});
    }
    if (signatures_.size() < 2) {
      return;
    }
    const auto smallest = std::min_element(
        signatures_.begin(), signatures_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const std::uint32_t file : smallest->second) {
      findings_.push_back(
          {Fault::mixed_saves,
           checkpoint_.path(file),
           {},
           "",
           "its items were written by another version of torch than those of the other files",
           {}});
    }
  }

  // Values that lie in no archive (safetensors): nothing but their numbers can be judged.
  void raw_tasks() {
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

  void read_all() {
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

  bool is_second_moment(const Task& task) const {
    return task.tensor != none &&
           checkpoint_.tensors[task.tensor].name.find("exp_avg_sq") != std::string::npos;
  }

  void read_piece(Piece& piece) {
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

  std::string name_of_task(const Task& task) const {
    return task.tensor != none ? checkpoint_.tensors[task.tensor].name
           : task.item != none ? checkpoint_.items[task.item].name
                               : "";
  }

  // All pieces of one task, from the first on; returns the index of the next task's first.
  std::size_t judge(std::size_t first) {
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

  void judge_values(std::uint32_t index, const std::string& file, const std::string& name) {
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

  void judge_tensors() {
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

  // Equal checksums of equal sizes under different keys; constants (zeros, ones) are equal by
  // right. Parameters that are replicated over model-parallel ranks are equal under one key, so of
  // those only a whole rank that equals another one is a finding.
  void same_bytes() {
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
      if (fresh || other.tensor == task.tensor || other.crc != task.crc ||
          other.size != task.size) {
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

  // "mp_rank_00_001/model.w" of formats with files for each rank; else the rank is empty.
  static std::pair<std::string_view, std::string_view> rank_and_key(std::string_view name) {
    const std::size_t end = name.find('/');
    return end != std::string_view::npos &&
                   (name.starts_with("mp_rank_") || name.starts_with("rank_"))
               ? std::pair(name.substr(0, end), name.substr(end + 1))
               : std::pair(std::string_view(), name);
  }

  // Tied embeddings, and a master copy that equals its parameter, are meant to be equal.
  static bool may_be_equal(const std::string& a, const std::string& b) {
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

  const Checkpoint& checkpoint_;
  const Survey& survey_;
  const ItemOptions& options_;
  unsigned threads_ = 1;
  FilePool files_;
  std::mutex mutex_;
  std::vector<Unit> units_;
  std::vector<Task> tasks_;
  std::vector<Piece> pieces_;
  std::map<std::pair<std::string, std::uint64_t>, std::pair<std::uint32_t, std::uint32_t>> raw_;
  std::map<std::uint32_t, Counts> counts_;
  std::vector<Extremes> seen_;
  std::map<std::string, std::set<std::uint32_t>> signatures_;
  std::size_t without_crc_ = 0;
  std::string without_crc_file_;
  std::atomic<std::uint64_t> done_ = 0;
  std::uint64_t total_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

ItemResult check_items(const Checkpoint& checkpoint, const Survey& survey,
                       const ItemOptions& options) {
  return ItemCheck(checkpoint, survey, options).run();
}

}  // namespace shardlint::checkpoint
