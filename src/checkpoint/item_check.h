#pragma once
// The check of every item of a checkpoint while it runs: what is left to open and to read, and what
// was seen. Its parts: opening (check_items.cpp), values (check_values.cpp), copies
// (check_copies.cpp).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoint/check_parts.h"
#include "checkpoint/file.h"
#include "checkpoint/scan.h"

namespace shardlint::checkpoint {

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

  ItemResult run();

 private:
  void add(Finding finding);

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

  // Opening.
  void list_units();
  std::pair<std::uint32_t, std::uint64_t> order(const Unit& unit) const;
  Place place_of(const Unit& unit) const;
  void index_raw();
  std::string path_of(std::uint32_t file, std::uint32_t archive) const;
  void open_unit(const Unit& unit);
  void signatures();

  // Values.
  void raw_tasks();
  void read_all();
  bool is_second_moment(const Task& task) const;
  void read_piece(Piece& piece);
  std::string name_of_task(const Task& task) const;
  std::size_t judge(std::size_t first);
  void judge_values(std::uint32_t index, const std::string& file, const std::string& name);
  void judge_tensors();

  // Copies.
  void same_bytes();

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

}  // namespace shardlint::checkpoint
