// Check 6: save, validate, resume, load into another number of ranks, save while training.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "ranks/progress.h"
#include "ranks/saved_state.h"
#include "ranks/scratch_folders.h"
#include "ranks/session.h"

namespace shardlint::ranks {

namespace {

constexpr int resumed_steps = 2;

std::string iteration_folder(const std::string& parent, int iteration) {
  char name[32];
  std::snprintf(name, sizeof name, "/iter_%07d", iteration);
  return parent + name;
}

// Rank 0 decides where; everyone learns it.
std::string choose_parent(Rank& rank) {
  if (rank.first()) {
    std::string parent = rank.plan.checkpoint.directory;
    if (parent.empty()) {
      const char* base = std::getenv("TMPDIR");
      parent = std::string(base == nullptr ? "/tmp" : base) + "/shardlint-verify-XXXXXX";
      if (::mkdtemp(parent.data()) == nullptr) {
        parent = "!make a folder " + parent + ": " + std::strerror(errno);
      } else {
        own_folder(parent);
      }
    } else if (::mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST) {
      parent = "!make the folder " + parent + ": " + std::strerror(errno);
    }
    rank.store.set("checkpoint/parent", parent);
  }
  return rank.store.get("checkpoint/parent", rank.store.deadline);
}

std::string common_id(Rank& rank, int iteration) {
  const std::string key = "checkpoint/id/" + std::to_string(iteration);
  if (rank.first()) {
    std::uint64_t bits[2];
    const int file = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0 || ::read(file, bits, sizeof bits) != sizeof bits) {
      bits[0] = bits[1] = static_cast<std::uint64_t>(::getpid());
    }
    ::close(file);
    char id[40];
    std::snprintf(id, sizeof id, "%08x-%04x-4%03x-a%03x-%012llx",
                  static_cast<unsigned>(bits[0] >> 32),
                  static_cast<unsigned>(bits[0] >> 16 & 0xffff),
                  static_cast<unsigned>(bits[0] & 0xfff), static_cast<unsigned>(bits[1] >> 52),
                  static_cast<unsigned long long>(bits[1] & 0xffffffffffffull));
    rank.store.set(key, id);
  }
  return rank.store.get(key, rank.store.deadline);
}

// Runs a step that may fail on some rank alone; true when it worked on all. The first failing
// rank's reason becomes the check's.
bool together(Rank& rank, Check& check, const std::string& label,
              const std::function<void()>& work) {
  std::string failure;
  try {
    work();
  } catch (const Error& error) {
    failure = error.what();
  }
  const std::string key = "failure/" + label + "/";
  if (!failure.empty()) {
    rank.store.set(key + std::to_string(rank.rank), failure);
  }
  const std::vector<float> flags = gather_values(rank, failure.empty() ? 0.0f : 1.0f);
  for (int r = 0; r < rank.size; ++r) {
    if (flags[static_cast<std::size_t>(r)] != 0) {
      check.verdict = Verdict::fail;
      check.reason = "rank " + std::to_string(r) + ": " +
                     rank.store.get(key + std::to_string(r), rank.store.deadline);
      return false;
    }
  }
  return true;
}

void corrupt(const Plan& plan, const std::string& directory) {
  for (const Fault& fault : plan.faults) {
    if (fault.kind != "corrupt_checkpoint") {
      continue;
    }
    const std::string path = directory + "/__" + std::to_string(fault.rank) + "_0.distcp";
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status {};
    char byte = 0;
    if (file < 0 || ::fstat(file, &status) != 0 ||
        ::pread(file, &byte, 1, status.st_size / 2) != 1) {
      throw Error("inject corrupt_checkpoint into " + path + ": " + std::strerror(errno));
    }
    byte = static_cast<char>(byte ^ 0x40);
    const ssize_t wrote = ::pwrite(file, &byte, 1, status.st_size / 2);
    ::close(file);
    if (wrote != 1) {
      throw Error("inject corrupt_checkpoint into " + path + ": " + std::strerror(errno));
    }
  }
}

struct Continued {
  std::vector<StepResult> steps;
  std::uint64_t digest = 0;
};

Continued go_on(Run& run) {
  Continued result;
  for (int i = 0; i < resumed_steps; ++i) {
    result.steps.push_back(run.step(run.next_step()));
  }
  result.digest = run.digest_of_weights();
  return result;
}

void compare_bits(Check& check, const Continued& resumed, const Continued& straight) {
  for (std::size_t i = 0; i < straight.steps.size(); ++i) {
    const auto row = [&](const char* what, double value, double expected) {
      // Bits, not values: a NaN that comes back as a NaN was saved and loaded faithfully.
      const bool same = std::memcmp(&value, &expected, sizeof value) == 0;
      check.rows.push_back({std::string("resumed ") + what + ", step +" + std::to_string(i + 1),
                            value, expected, same ? 0.0 : std::abs(value - expected), 0.0, same});
    };
    row("loss", resumed.steps[i].loss, straight.steps[i].loss);
    row("gradient norm", resumed.steps[i].grad_norm, straight.steps[i].grad_norm);
  }
  check.rows.push_back(
      {"resumed weights bit for bit", {}, {}, {}, {}, resumed.digest == straight.digest});
}

void judge(Check& check) {
  for (const Row& row : check.rows) {
    if (!row.ok && check.verdict == Verdict::pass) {
      check.verdict = Verdict::fail;
      char text[120];
      std::snprintf(text, sizeof text, " differs: %.9g, expected %.9g", row.value.value_or(NAN),
                    row.expected.value_or(NAN));
      check.reason = row.what + (row.value ? text : " differ");
    }
  }
}

// What Megatron's loader looks at first; without it training starts from scratch, silently. Written
// last, when the iteration is whole and checked.
void write_tracker(const std::string& iteration_directory) {
  const std::string name = std::filesystem::path(iteration_directory).filename().string();
  write_atomically(join_path(parent_path(iteration_directory), "latest_checkpointed_iteration.txt"),
                   std::to_string(std::stoi(name.substr(name.find('_') + 1))));
}

void count_files(const std::string& directory, CheckpointRecord& record) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    ++record.files;
    record.bytes += entry.file_size(ignored);
  }
}

class CheckpointCheck {
 public:
  CheckpointCheck(Session& session, Check& check)
      : session_(session), rank_(session.rank), check_(check) {}

  void all() {
    const std::string parent = choose_parent(rank_);
    if (parent.starts_with('!')) {
      check_.verdict = Verdict::fail;
      check_.reason = parent.substr(1);
      return;
    }
    const int iteration = session_.main->next_step();
    directory_ = iteration_folder(parent, iteration);
    record_.directory = directory_;
    record_.kept = rank_.plan.checkpoint.keep;
    if (!save(iteration)) {
      return;
    }
    validate();
    const std::uint64_t digest_at_save = session_.main->digest_of_weights();
    enter_phase("checkpoint_resume");
    const Continued straight = go_on(*session_.main);
    session_.main.reset();
    if (!resume(straight, iteration) || !reshard(straight, iteration, digest_at_save)) {
      return;
    }
    judge(check_);
    if (check_.verdict == Verdict::pass) {
      check_.reason = "saved, validated, resumed bit for bit" +
                      std::string(rank_.size > 1 ? ", loaded into 1 rank" : "");
    }
  }

  const CheckpointRecord& record() const { return record_; }

 private:
  bool save(int iteration) {
    enter_phase("checkpoint_save");
    const double begun = seconds_since_start();
    std::unique_ptr<StateWriter> writer;
    const std::string id = common_id(rank_, iteration);
    const bool written = together(rank_, check_, "save", [&] {
      if (std::filesystem::exists(directory_)) {
        throw Error("save " + directory_ + ": it exists already and is not overwritten");
      }
      own_folder(directory_);
      writer = std::make_unique<StateWriter>(rank_, *session_.main, directory_, iteration, id);
      Snapshot snapshot = make_snapshot(*session_.main);
      take_snapshot(*session_.main, snapshot, session_.main->compute());
      session_.main->compute().synchronize();
      writer->write(snapshot);
    });
    if (!written || !together(rank_, check_, "commit", [&] {
          if (rank_.first()) {
            writer->commit();
            corrupt(rank_.plan, directory_);
          }
        })) {
      return false;
    }
    record_.save_s = seconds_since_start() - begun;
    count_files(directory_, record_);
    return true;
  }

  void validate() {
    enter_phase("checkpoint_check");
    const double begun = seconds_since_start();
    if (rank_.first()) {
      bool sound = true;
      check_.findings = deep_check(directory_, sound);
      if (!sound) {
        check_.verdict = Verdict::fail;
        check_.reason = "validation: " + (check_.findings.empty() ? std::string("not sound")
                                                                  : check_.findings[0].message);
      }
    }
    meet(rank_);
    record_.check_s = seconds_since_start() - begun;
  }

  bool resume(const Continued& straight, int iteration) {
    const Strategy strategy = rank_.plan.parallel.strategy;
    Run run(rank_, {"resumed", strategy, false, false, false});
    const double begun = seconds_since_start();
    if (!together(rank_, check_, "load", [&] { load_state(run, directory_); })) {
      return false;
    }
    record_.load_s = seconds_since_start() - begun;
    run.set_next_step(iteration);
    compare_bits(check_, go_on(run), straight);
    return !rank_.plan.checkpoint.asynchronous || save_while_training(run);
  }

  // In one rank, each on its own, over everybody's data.
  bool reshard(const Continued& straight, int iteration, std::uint64_t digest_at_save) {
    if (rank_.size == 1) {
      session_.reporter.with([&](Report& report) {
        if (rank_.first()) {
          report.not_exercised.emplace_back("loading into another number of ranks",
                                            "there is one rank");
        }
      });
      return true;
    }
    enter_phase("checkpoint_reshard");
    Run run(rank_, {"in 1 rank", Strategy::no_shard, true, false, false});
    if (!together(rank_, check_, "reshard", [&] { load_state(run, directory_); })) {
      return false;
    }
    run.set_next_step(iteration);
    check_.rows.push_back({"weights loaded into 1 rank bit for bit",
                           {},
                           {},
                           {},
                           {},
                           run.digest_of_weights() == digest_at_save});
    const Continued continued = go_on(run);
    // As in the parity check: only the order of sums differs.
    const double limit = rank_.plan.parallel.reduce_in_bf16 ? 2e-3 : 5e-4;
    for (std::size_t i = 0; i < continued.steps.size(); ++i) {
      const double value = continued.steps[i].loss, expected = straight.steps[i].loss;
      const double difference = std::isnan(value) && std::isnan(expected)
                                    ? 0
                                    : std::abs(value - expected) / std::abs(expected);
      check_.rows.push_back({"loss in 1 rank, step +" + std::to_string(i + 1), value, expected,
                             difference, limit, difference <= limit});
    }
    return true;
  }

  bool save_while_training(Run& run) {
    enter_phase("checkpoint_async");
    const int iteration = run.next_step();
    const std::string directory =
        iteration_folder(std::filesystem::path(directory_).parent_path().string(), iteration);
    const std::string id = common_id(rank_, iteration);
    Snapshot for_writing = make_snapshot(run), for_comparing = make_snapshot(run);
    take_snapshot(run, for_comparing, run.compute());
    run.compute().synchronize();
    std::unique_ptr<StateWriter> writer;
    if (!together(rank_, check_, "async plan", [&] {
          own_folder(directory);
          writer = std::make_unique<StateWriter>(rank_, run, directory, iteration, id);
        })) {
      return false;
    }
    const double begun = seconds_since_start();
    take_snapshot(run, for_writing, run.compute());
    run.compute().synchronize();
    record_.async_stall_ms = (seconds_since_start() - begun) * 1e3;
    std::string failure;
    double written = 0;
    std::thread background([&] {
      try {
        writer->write(for_writing);
      } catch (const std::exception& error) {
        failure = error.what();
      }
      written = seconds_since_start() - begun;
    });
    try {
      go_on(run);
    } catch (...) {
      background.join();
      throw;
    }
    background.join();
    record_.async_write_s = written;
    std::uint64_t different = 0;
    const bool ok = together(rank_, check_, "async write",
                             [&] {
                               if (!failure.empty()) {
                                 throw Error(failure);
                               }
                             }) &&
                    together(rank_, check_, "async commit",
                             [&] {
                               if (rank_.first()) {
                                 writer->commit();
                               }
                             }) &&
                    together(rank_, check_, "async read",
                             [&] { different = count_differences(run, directory, for_comparing); });
    if (ok) {
      check_.rows.push_back({"async save: values that differ from a snapshot",
                             static_cast<double>(different), 0.0, static_cast<double>(different),
                             0.0, different == 0});
    }
    meet(rank_);
    if (rank_.first()) {
      std::error_code ignored;
      std::filesystem::remove_all(directory, ignored);
    }
    return ok;
  }

  Session& session_;
  Rank& rank_;
  Check& check_;
  std::string directory_;
  CheckpointRecord record_;
};

}  // namespace

void check_checkpoint(Session& session) {
  Rank& rank = session.rank;
  const double begun = seconds_since_start();
  Check check{"checkpoint", Verdict::pass, "", 0, {}, {}};
  bool one_host = true;
  session.reporter.with([&](Report& report) { one_host = report.hosts <= 1; });
  one_host = gather_values(rank, one_host ? 1.0f : 0.0f)[0] == 1.0f;
  if (!one_host && rank.plan.checkpoint.directory.empty()) {
    check.verdict = Verdict::not_here;
    check.reason = "several hosts: checkpoint.directory must name a folder that all of them see";
    finish_check(session, std::move(check));
    return;
  }
  CheckpointCheck work(session, check);
  work.all();
  meet(rank);
  if (rank.first()) {
    if (rank.plan.checkpoint.keep && check.verdict == Verdict::pass) {
      disown_folder(work.record().directory);
      disown_folder(parent_path(work.record().directory));
      try {
        write_tracker(work.record().directory);
      } catch (const Error& error) {
        check.verdict = Verdict::fail;
        check.reason = error.what();
      }
    }
    remove_owned_folders();
    session.reporter.with([&](Report& report) { report.checkpoint = work.record(); });
  }
  check.seconds = seconds_since_start() - begun;
  finish_check(session, std::move(check));
}

}  // namespace shardlint::ranks
