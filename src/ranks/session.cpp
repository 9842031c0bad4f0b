#include "ranks/session.h"

#include <algorithm>

#include "base/error.h"
#include "ranks/preload.h"
#include "ranks/progress.h"

namespace shardlint::ranks {

void finish_check(Session& session, Check check) {
  Rank& rank = session.rank;
  const bool failed = check.verdict == Verdict::fail;
  const std::string key = "check/" + check.name + "/";
  if (failed) {
    rank.store.set(key + std::to_string(rank.rank), check.reason);
  }
  const std::vector<float> flags = gather_values(rank, failed ? 1.0f : 0.0f);
  if (!rank.first()) {
    return;
  }
  if (!failed) {
    for (int r = 1; r < rank.size; ++r) {
      if (flags[static_cast<std::size_t>(r)] != 0) {
        check.verdict = Verdict::fail;
        check.reason = "rank " + std::to_string(r) + ": " +
                       rank.store.get(key + std::to_string(r), rank.store.deadline);
        break;
      }
    }
  }
  emit("check", "\"check\":" + to_json_text(check));
  session.reporter.with([&](Report& report) {
    if (check.verdict == Verdict::fail) {
      report.outcome = "fail";
    }
    report.checks.push_back(std::move(check));
  });
}

namespace {

void list_settings(const Rank& rank, Report& report) {
  const ParallelPlan& p = rank.plan.parallel;
  auto& done = report.exercised;
  done.push_back("strategy " + std::string(name_of(p.strategy)));
  done.push_back(std::string("overlap_grad_reduce ") + (p.overlap_grad_reduce ? "true" : "false"));
  done.push_back(std::string("overlap_param_gather ") +
                 (p.overlap_param_gather ? "true" : "false"));
  done.push_back(std::string("reduce_dtype ") + (p.reduce_in_bf16 ? "bf16" : "fp32"));
  done.push_back(std::string("average_in_collective ") +
                 (p.average_in_collective ? "true" : "false"));
  if (rank.outer_size > 1) {
    done.push_back("outer_size " + std::to_string(rank.outer_size));
  }
  if (rank.expert_parallel > 1) {
    done.push_back("expert_parallel " + std::to_string(rank.expert_parallel));
  }
  if (rank.plan.train.micro_batches > 1) {
    done.push_back("micro_batches " + std::to_string(rank.plan.train.micro_batches));
  }
  if (p.double_buffer) {
    done.push_back("double_buffer true");  // two slots of every kind are what the trainer has
  }
  if (p.max_connections > 0) {
    if (backend_name() == "gpu") {
      done.push_back("max_connections " + std::to_string(p.max_connections));
    } else {
      report.not_exercised.emplace_back("max_connections " + std::to_string(p.max_connections),
                                        "the CPU backend has no launch queues");
    }
  }
  if (rank.plan.checkpoint.reload_ranks > 1) {
    report.not_exercised.emplace_back(
        "reload_ranks " + std::to_string(rank.plan.checkpoint.reload_ranks),
        "the trainer reloads into 1 rank");
  }
  const Groups groups = rank.groups(false);
  const int local = rank.plan.model.experts / groups.expert->size();
  const Layout layout = make_layout(rank.plan.model, 1, 1, 0, local);
  for (const Bucket& bucket : layout.buckets) {
    for (const Tensor& tensor : bucket.tensors) {
      report.layout.push_back({tensor.name, tensor.shape});
    }
  }
  for (const Fault& fault : rank.plan.faults) {
    report.faults.emplace_back(fault.kind,
                               fault.kind == "ecc_error" || fault.kind == "no_peer_access");
  }
}

}  // namespace

void run_rank(const Plan& plan, Store& store, int rank, int size, int device, Reporter& reporter) {
  become_rank(rank);
  enter_phase("join");
  use_device(device);
  preload_kernels(plan.model);
  std::vector<std::pair<std::string, std::string>> unmet;
  Report wishes;
  const std::unique_ptr<Rank> here = join(plan, store, rank, size, wishes);
  if (here->first()) {
    reporter.with([&](Report& report) {
      report.ranks = size;
      report.not_exercised = wishes.not_exercised;
      list_settings(*here, report);
    });
  }
  Buffer<char> hog;
  for (const Fault& fault : plan.faults) {
    const std::uint64_t free = device_facts(-1).free_bytes;
    if (fault.kind == "little_memory" && fault.rank == rank && free > fault.bytes &&
        backend_name() == "gpu") {
      hog = Buffer<char>(free - fault.bytes, Use::other);
    }
  }
  Session session{*here, reporter, nullptr, {}, {}};
  if (session.wants("environment")) {
    check_environment(session);
  }
  if (session.wants("collectives")) {
    check_collectives(session);
  }
  if (session.wants("parity")) {
    check_parity(session);
  } else {
    train(session);
  }
  if (session.wants("replicas")) {
    check_replicas(session);
  }
  if (session.wants("memory")) {
    check_memory(session);
  }
  if (session.wants("checkpoint")) {
    check_checkpoint(session);
  }
  session.main.reset();
  if (plan.compare) {
    compare_strategies(session);
  }
  enter_phase("finish");
  meet(*here);
}

}  // namespace shardlint::ranks
