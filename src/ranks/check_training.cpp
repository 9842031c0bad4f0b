// Checks 3, 4, 5 and 7: the loss, parity, replicas and memory.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ranks/progress.h"
#include "ranks/session.h"

namespace shardlint::ranks {

namespace {

std::string step_text(const std::string& run, const char* what, std::size_t step) {
  return run + " " + what + ", step " + std::to_string(step);
}

// Sharding changes only the order in which gradients of micro-batches and ranks are added in
// float; everything before is the same arithmetic on the same data. Adam then turns a difference
// in a gradient near zero into one of up to twice the learning rate in a weight, which the next
// losses show: that, not rounding of the loss, sets these limits. Gradients reduced in bf16 lose
// 8 bits, so their norm may differ by parts in a thousand.
struct Limits {
  double loss, norm;
};
Limits limits_for(const Plan& plan) {
  return plan.parallel.reduce_in_bf16 ? Limits{2e-3, 2e-2} : Limits{5e-4, 5e-3};
}

void compare(Check& check, const RunRecord& run, const RunRecord& reference, const Limits& limits) {
  const auto row = [&](const char* what, std::size_t step, double value, double expected,
                       double limit) {
    const double difference = std::abs(value - expected) / std::max(std::abs(expected), 1e-12);
    check.rows.push_back(
        {step_text(run.name, what, step), value, expected, difference, limit, difference <= limit});
  };
  for (std::size_t i = 0; i < std::min(run.loss.size(), reference.loss.size()); ++i) {
    // Training amplifies rounding, the faster the larger the rate: seen on 539 million parameters
    // at 1e-3, where twelve steps made a difference of 1 % in the norm out of 1e-5. A mistake in
    // the scaling of gradients is there from its first step on, and tens of percent.
    const double growth = std::min(20.0, std::exp2(std::max(0.0, static_cast<double>(i) - 3)));
    row("loss", i, run.loss[i], reference.loss[i], limits.loss * growth);
    row("gradient norm", i, run.grad_norm[i], reference.grad_norm[i], limits.norm * growth);
  }
}

void judge_rows(Check& check, const std::string& when_good) {
  double worst = 0;
  for (const Row& row : check.rows) {
    if (!row.ok) {
      check.verdict = Verdict::fail;
      if (check.reason.empty()) {
        char text[200];
        std::snprintf(text, sizeof text, ": %.6g, expected %.6g (difference %.2g, limit %.2g)",
                      row.value.value_or(NAN), row.expected.value_or(NAN),
                      row.difference.value_or(NAN), row.limit.value_or(NAN));
        check.reason = row.what + text;
      }
    }
    worst = std::max(worst, row.difference.value_or(0));
  }
  if (check.verdict == Verdict::pass) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2g", worst);
    check.reason = when_good + text;
  }
}

RunRecord run_all(Session& session, const RunSpec& spec) {
  Run run(session.rank, spec);
  for (int step = 0; step < session.rank.plan.train.steps; ++step) {
    run.step(step);
  }
  return run.record();
}

void publish(Session& session, const RunRecord& record) {
  if (session.rank.first()) {
    session.reporter.with([&](Report& report) { report.runs.push_back(record); });
  }
}

}  // namespace

// The reference comes first: it needs no communication, so that the first use of every kernel
// cannot meet a collective that waits for another rank.
void check_parity(Session& session) {
  Rank& rank = session.rank;
  enter_phase("parity", "reference");
  const double begun = seconds_since_start();
  session.reference = run_all(session, {"reference", Strategy::no_shard, true, false, false});
  publish(session, session.reference);
  Check check{"parity", Verdict::pass, "", 0, {}, {}};
  const Limits limits = limits_for(rank.plan);
  for (const Strategy strategy : all_strategies) {
    if (strategy == rank.plan.parallel.strategy || rank.size == 1) {
      continue;  // the plan's own comes with the training check
    }
    enter_phase("parity", std::string(name_of(strategy)));
    const RunRecord record =
        run_all(session, {std::string(name_of(strategy)), strategy, false, false, false});
    publish(session, record);
    compare(check, record, session.reference, limits);
  }
  enter_phase("train");
  train(session);
  compare(check, session.main->record(), session.reference, limits);
  // The reference ran on every rank, on the same data: the devices themselves must agree.
  const std::vector<float> last =
      gather_values(rank, static_cast<float>(session.reference.loss.back()));
  for (int r = 0; r < rank.size; ++r) {
    const double mine = static_cast<double>(last[0]);
    const double other = static_cast<double>(last[static_cast<std::size_t>(r)]);
    if (r > 0) {
      check.rows.push_back({"last reference loss on rank " + std::to_string(r) + " as on rank 0",
                            other, mine, std::abs(other - mine), 0.0, other == mine});
    }
  }
  judge_rows(check, "largest relative difference from an unsharded run ");
  check.seconds = seconds_since_start() - begun;
  finish_check(session, std::move(check));
}

void train(Session& session) {
  Rank& rank = session.rank;
  enter_phase("train");
  const double begun = seconds_since_start();
  memory_account().peak = memory_account().total;
  session.main =
      std::make_unique<Run>(rank, RunSpec{std::string(name_of(rank.plan.parallel.strategy)),
                                          rank.plan.parallel.strategy, false, true, true});
  session.main_memory = memory_account();
  Check check{"finite", Verdict::pass, "", 0, {}, {}};
  for (int step = 0; step < rank.plan.train.steps; ++step) {
    const StepResult result = session.main->step(step);
    const bool finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
    if (!finite && check.verdict == Verdict::pass) {
      check.verdict = Verdict::fail;
      check.reason = std::string(std::isfinite(result.loss) ? "gradient norm" : "loss") +
                     " is not finite at step " + std::to_string(step);
    }
    check.rows.push_back({"loss and gradient norm finite, step " + std::to_string(step),
                          result.loss,
                          {},
                          {},
                          {},
                          finite});
  }
  session.main_memory.peak = memory_account().peak;
  RunRecord& record = session.main->record();
  record.peak_bytes = session.main_memory.peak;
  if (check.verdict == Verdict::pass) {
    char text[160];
    std::snprintf(text, sizeof text, "loss %.4f to %.4f in %d steps", record.loss.front(),
                  record.loss.back(), rank.plan.train.steps);
    check.reason = text;
    if (rank.plan.train.fixed_batch && rank.plan.train.steps > 1) {
      const bool falls = record.loss.back() < record.loss.front();
      check.rows.push_back({"loss falls on a repeated batch",
                            record.loss.back(),
                            record.loss.front(),
                            {},
                            {},
                            falls});
      if (!falls) {
        check.verdict = Verdict::fail;
        check.reason = std::string("the loss does not fall on a repeated batch: ") + text;
      }
    }
  }
  check.seconds = seconds_since_start() - begun;
  publish(session, record);
  if (session.wants("finite")) {
    finish_check(session, std::move(check));
  }
}

void check_replicas(Session& session) {
  Rank& rank = session.rank;
  enter_phase("replicas");
  const double begun = seconds_since_start();
  Check check{"replicas", Verdict::pass, "", 0, {}, {}};
  if (rank.size == 1) {
    check.verdict = Verdict::not_here;
    check.reason = "one rank has no replica";
    finish_check(session, std::move(check));
    return;
  }
  const std::uint64_t digest = session.main->digest_of_weights();
  int different = 0;
  for (int part = 0; part < 4; ++part) {  // 16 bits at a time are exact in a float
    const auto bits = static_cast<float>((digest >> (16 * part)) & 0xffff);
    const std::vector<float> all = gather_values(rank, bits);
    for (int r = 1; r < rank.size; ++r) {
      if (all[static_cast<std::size_t>(r)] != all[0] && different == 0) {
        different = r;
      }
    }
  }
  check.rows.push_back({"digest of the gathered weights", {}, {}, {}, {}, different == 0});
  if (different != 0) {
    check.verdict = Verdict::fail;
    check.reason =
        "after the gather rank " + std::to_string(different) + " holds other weights than rank 0";
  } else {
    check.reason = "all ranks hold the same bits after the gather";
  }
  check.seconds = seconds_since_start() - begun;
  finish_check(session, std::move(check));
}

std::uint64_t expected_model_state(const Rank& rank, Strategy strategy) {
  const ModelSizes& m = rank.plan.model;
  const int local = m.experts > 0 ? m.experts / rank.expert_parallel : 0;
  const Layout layout = make_layout(m, 1, 1, 0, local);
  double total = 0;
  for (const Bucket& bucket : layout.buckets) {
    double count = 0;
    for (const Tensor& tensor : bucket.tensors) {
      count += static_cast<double>(tensor.count);
    }
    const double parts = strategy == Strategy::no_shard ? 1
                         : bucket.expert ? static_cast<double>(rank.size / rank.expert_parallel)
                                         : static_cast<double>(rank.size / rank.outer_size);
    const bool whole_gradient = strategy == Strategy::no_shard || strategy == Strategy::optim;
    total += count * 12 / parts + count * 4 / (whole_gradient ? 1 : parts) +
             (strategy == Strategy::optim_grads_params ? 0 : count * 2);
  }
  return static_cast<std::uint64_t>(total);
}

std::uint64_t expected_peak(const Rank& rank, Strategy strategy) {
  const ModelSizes& m = rank.plan.model;
  const double tokens = static_cast<double>(rank.plan.train.micro_batch) * m.sequence;
  const double wide = tokens * m.hidden * 2;
  const double ends = static_cast<double>(m.vocab) * m.hidden;
  const double layer = 12.0 * m.hidden * m.hidden;
  const double work = wide * (10.0 * m.layers + 14) + 6 * (ends + 2 * layer) +
                      (m.experts > 0 ? wide * 20 * rank.expert_parallel : 0);
  // The reference of the parity check is whole and alone.
  double state = static_cast<double>(expected_model_state(rank, strategy));
  if (rank.plan.wants("parity")) {
    state = std::max(state, static_cast<double>(expected_model_state(rank, Strategy::no_shard)));
  }
  return static_cast<std::uint64_t>(state + work) +
         (std::uint64_t{256} << 20) * (backend_name() == "gpu" ? 1 : 0);
}

void check_memory(Session& session) {
  Rank& rank = session.rank;
  enter_phase("memory");
  const MemoryAccount& account = session.main_memory;
  const auto bytes = [&](Use use) { return account.now[static_cast<std::size_t>(use)]; };
  MemoryRecord mine;
  mine.rank = rank.rank;
  mine.strategy = name_of(rank.plan.parallel.strategy);
  mine.parameters = bytes(Use::parameters);
  mine.gradients = bytes(Use::gradients);
  mine.optimizer = bytes(Use::optimizer);
  mine.gather = bytes(Use::gather);
  mine.activations = bytes(Use::activations);
  mine.model_state = mine.parameters + mine.gradients + mine.optimizer;
  mine.expected_model_state = expected_model_state(rank, rank.plan.parallel.strategy);
  mine.peak = account.peak;
  mine.device_used = device_used_bytes();
  Check check{"memory", Verdict::pass, "", 0, {}, {}};
  // Tensors and parts start at multiples of 64 elements: at most 64 (ranks + 1) elements a bucket
  // of 18 bytes more than the arithmetic, for which 1 % and 256 KiB are ample.
  const double value = static_cast<double>(mine.model_state);
  const double expected = static_cast<double>(mine.expected_model_state);
  const double limit = 0.01 * expected + 262144;
  const bool ok = std::abs(value - expected) <= limit;
  check.rows.push_back({"model state bytes of rank " + std::to_string(rank.rank), value, expected,
                        std::abs(value - expected), limit, ok});
  check.verdict = ok ? Verdict::pass : Verdict::fail;
  char text[200];
  std::snprintf(text, sizeof text, "model state %.2f MiB, by arithmetic %.2f MiB; peak %.2f MiB",
                value / 1048576, expected / 1048576, static_cast<double>(mine.peak) / 1048576);
  check.reason = text;
  // Every rank's figures, part by part.
  const std::uint64_t MemoryRecord::*fields[] = {&MemoryRecord::parameters,
                                                 &MemoryRecord::gradients,
                                                 &MemoryRecord::optimizer,
                                                 &MemoryRecord::gather,
                                                 &MemoryRecord::activations,
                                                 &MemoryRecord::model_state,
                                                 &MemoryRecord::expected_model_state,
                                                 &MemoryRecord::peak,
                                                 &MemoryRecord::device_used};
  std::string line = mine.strategy;
  for (const auto field : fields) {
    line += " " + std::to_string(mine.*field);
  }
  rank.store.set("memory/" + std::to_string(rank.rank), line);
  if (rank.first()) {
    for (int r = 0; r < rank.size; ++r) {
      const std::string text_of_rank =
          rank.store.get("memory/" + std::to_string(r), rank.store.deadline);
      MemoryRecord record;
      record.rank = r;
      char strategy[32] = {};
      unsigned long long v[9] = {};
      std::sscanf(text_of_rank.c_str(), "%31s %llu %llu %llu %llu %llu %llu %llu %llu %llu",
                  strategy, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8]);
      record.strategy = strategy;
      record.parameters = v[0];
      record.gradients = v[1];
      record.optimizer = v[2];
      record.gather = v[3];
      record.activations = v[4];
      record.model_state = v[5];
      record.expected_model_state = v[6];
      record.peak = v[7];
      record.device_used = v[8];
      session.reporter.with([&](Report& report) { report.memory.push_back(record); });
    }
  }
  finish_check(session, std::move(check));
}

void compare_strategies(Session& session) {
  for (const Strategy strategy : all_strategies) {
    enter_phase("compare", std::string(name_of(strategy)));
    memory_account().peak = memory_account().total;
    const std::uint64_t before = memory_account().total;
    RunRecord record;
    {
      Run run(session.rank,
              {"compare " + std::string(name_of(strategy)), strategy, false, true, false});
      const MemoryAccount& account = memory_account();
      record.model_state_bytes = account.now[0] + account.now[1] + account.now[2];
      for (int step = 0; step < session.rank.plan.train.steps; ++step) {
        run.step(step);
      }
      const std::uint64_t state = record.model_state_bytes;
      record = run.record();
      record.model_state_bytes = state;
      record.peak_bytes = account.peak - before;
    }
    if (session.rank.first()) {
      session.reporter.with([&](Report& report) { report.compare.push_back(record); });
    }
  }
}

}  // namespace shardlint::ranks
