// Checks 1 and 2: what the ranks run on, and whether collectives move the right values.

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ranks/progress.h"
#include "ranks/session.h"

namespace shardlint::ranks {

namespace {

bool has_fault(const Plan& plan, const std::string& kind) {
  return std::any_of(plan.faults.begin(), plan.faults.end(),
                     [&](const Fault& fault) { return fault.kind == kind; });
}

void compare_devices(Check& check, const Report& report) {
  for (const RankDevice& entry : report.devices) {
    const DeviceFacts& device = entry.device;
    const DeviceFacts& first = report.devices.front().device;
    if (device.name != first.name || device.capability != first.capability) {
      check.rows.push_back({"rank " + std::to_string(entry.rank) + " has a " + device.name +
                                " where rank 0 has a " + first.name,
                            {},
                            {},
                            {},
                            {},
                            false});
    }
  }
}

void compare_links(Check& check, const Report& report) {
  for (const RankLink& link : report.links) {
    if (link.link.known && !link.link.peer_access) {
      check.rows.push_back({"no peer access from device of rank " + std::to_string(link.from) +
                                " to rank " + std::to_string(link.to) +
                                ": collectives go through host memory",
                            {},
                            {},
                            {},
                            {},
                            false});
    }
  }
}

// Told through the store: NCCL itself may not find the memory to pass it on.
void refuse_little_memory(Rank& rank, double room, double needed) {
  const std::string key = "short of memory/";
  const bool enough = room >= needed || room == 0;
  rank.store.set(key + std::to_string(rank.rank),
                 enough ? "no"
                        : std::to_string(static_cast<long long>(room / 1048576)) + " MiB free, " +
                              std::to_string(static_cast<long long>(needed / 1048576)) +
                              " MiB needed");
  for (int r = 0; r < rank.size; ++r) {
    const std::string word = rank.store.get(key + std::to_string(r), rank.store.deadline);
    if (word != "no") {
      throw Error("cannot run here: too little device memory on rank " + std::to_string(r) + ": " +
                  word);
    }
  }
}

}  // namespace

void check_environment(Session& session) {
  Rank& rank = session.rank;
  enter_phase("environment");
  const double begun = seconds_since_start();
  const RuntimeFacts runtime = [] {
    RuntimeFacts facts;
    load_libraries(facts);
    return facts;
  }();
  const int ordinal = rank.plan.processes ? -1
                      : rank.plan.devices.empty()
                          ? rank.rank
                          : rank.plan.devices[static_cast<std::size_t>(rank.rank)];
  const RankDevice mine{rank.rank, host_name(), device_facts(ordinal)};
  rank.store.set("device/" + std::to_string(rank.rank), to_json_text(mine));
  Check check{"environment", Verdict::pass, "", 0, {}, {}};
  double needed = static_cast<double>(expected_peak(rank, rank.plan.parallel.strategy));
  if (session.wants("collectives")) {
    for (const std::uint64_t bytes : rank.plan.collectives.sizes) {
      needed = std::max(needed, static_cast<double>(bytes));
    }
  }
  const double room = static_cast<double>(mine.device.free_bytes);
  const Row memory{"free device memory, rank " + std::to_string(rank.rank),
                   room,
                   needed,
                   {},
                   {},
                   room >= needed || room == 0};
  refuse_little_memory(rank, room, needed);
  if (rank.first()) {
    session.reporter.with([&](Report& report) {
      report.runtime = runtime;
      std::set<std::string> hosts;
      for (int r = 0; r < rank.size; ++r) {
        report.devices.push_back(
            rank_device_from(rank.store.get("device/" + std::to_string(r), rank.store.deadline)));
        hosts.insert(report.devices.back().host);
      }
      report.hosts = static_cast<int>(hosts.size());
      for (const RankDevice& from : report.devices) {
        for (const RankDevice& to : report.devices) {
          if (from.rank != to.rank && from.host == to.host && from.host == host_name()) {
            LinkFacts link = link_facts(from.device, to.device);
            if (has_fault(rank.plan, "no_peer_access")) {
              link.known = true;
              link.peer_access = false;
            }
            report.links.push_back({from.rank, to.rank, link});
          }
        }
      }
      compare_devices(check, report);
      compare_links(check, report);
      if (has_fault(rank.plan, "ecc_error")) {
        check.rows.push_back(
            {"uncorrectable ECC error on the device of rank 0 (simulated)", {}, {}, {}, {}, false});
      }
    });
  }
  check.rows.push_back(memory);
  for (const Row& row : check.rows) {
    if (!row.ok && check.reason.empty()) {
      check.reason = row.what;
      check.verdict = Verdict::fail;
    }
  }
  if (check.reason.empty()) {
    check.reason = std::to_string(rank.size) + " ranks on " + mine.device.name;
  }
  check.seconds = seconds_since_start() - begun;
  finish_check(session, std::move(check));
}

namespace {

enum class Collective { all_gather, reduce_scatter, all_reduce };
constexpr const char* collective_names[] = {"all_gather", "reduce_scatter", "all_reduce"};

struct Bench {
  Rank& rank;
  Stream stream;
  Buffer<float> data, wrong, scratch;
  std::span<float> whole;

  Bench(Rank& from, std::uint64_t largest)
      : rank(from),
        data(largest / sizeof(float), Use::other),
        wrong(1, Use::other),
        scratch(reduction_scratch, Use::other) {}

  std::span<float> part(int r) {
    const Range range = part_of(whole.size(), rank.size, r);
    return whole.subspan(range.begin, range.size());
  }
  void start(Collective what) {
    switch (what) {
      case Collective::all_gather:
        return rank.world->all_gather(whole, stream);
      case Collective::reduce_scatter:
        return rank.world->reduce_scatter(whole, part(rank.rank), Reduce::sum, stream);
      case Collective::all_reduce:
        return rank.world->all_reduce(whole, Reduce::sum, stream);
    }
  }
  double count_wrong(std::span<const float> values, std::uint64_t seed, int first, int ranks,
                     std::uint64_t offset) {
    check_pattern(stream, wrong.all(), scratch.all(), values, seed,
                  static_cast<std::uint64_t>(first), ranks, offset);
    rank.world->wait(stream);
    float count = 0;
    copy_out(&count, wrong.all().data(), sizeof count, stream);
    return static_cast<double>(count);
  }
  // Values that are wrong after one collective on fresh patterns.
  double check(Collective what, std::uint64_t seed) {
    const auto me = static_cast<std::uint64_t>(rank.rank);
    const std::size_t own_first = part_of(whole.size(), rank.size, rank.rank).begin;
    if (what == Collective::all_gather) {
      fill_value(stream, whole, -1000);
      fill_pattern(stream, part(rank.rank), seed, me, 0);
      start(what);
      double total = 0;
      for (int r = 0; r < rank.size; ++r) {
        total += count_wrong(part(r), seed, r, 1, 0);
      }
      return total;
    }
    fill_pattern(stream, whole, seed, me, 0);
    start(what);
    return what == Collective::all_reduce
               ? count_wrong(whole, seed, 0, rank.size, 0)
               : count_wrong(part(rank.rank), seed, 0, rank.size, own_first);
  }
  // Seconds a call, several in a row, the median of five such rows.
  double time(Collective what, int repeats) {
    std::vector<double> samples;
    for (int sample = 0; sample < 6; ++sample) {
      fill_value(stream, whole, 0);  // sums must not run away
      rank.world->wait(stream);
      meet(rank);
      Event begun(true), ended(true);
      begun.record(stream);
      for (int i = 0; i < repeats; ++i) {
        start(what);
      }
      ended.record(stream);
      rank.world->wait(stream);
      if (sample > 0) {  // the first one sets up connections
        samples.push_back(milliseconds_between(begun, ended) / repeats / 1e3);
      }
    }
    return median(samples);
  }
};

}  // namespace

void check_collectives(Session& session) {
  Rank& rank = session.rank;
  Check check{"collectives", Verdict::pass, "", 0, {}, {}};
  const double begun = seconds_since_start();
  enter_phase("collectives");
  if (rank.size == 1) {
    check.verdict = Verdict::not_here;
    check.reason = "one rank has nobody to talk to";
    finish_check(session, std::move(check));
    return;
  }
  const std::uint64_t unit = 256 * static_cast<std::uint64_t>(rank.size);
  std::uint64_t largest = unit;
  for (const std::uint64_t bytes : rank.plan.collectives.sizes) {
    largest = std::max(largest, (bytes + unit - 1) / unit * unit);
  }
  Bench bench(rank, largest);
  double wrong = 0;
  for (const std::uint64_t size : rank.plan.collectives.sizes) {
    const std::uint64_t bytes = (size + unit - 1) / unit * unit;
    bench.whole = bench.data.all().first(bytes / sizeof(float));
    for (const Collective what :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
      const std::string name = collective_names[static_cast<std::size_t>(what)];
      move_on(name + " of " + std::to_string(bytes) + " bytes");
      const double bad = bench.check(what, rank.plan.seed + bytes);
      wrong += bad;
      check.rows.push_back({name + ", " + std::to_string(bytes) + " bytes: wrong values", bad, 0.0,
                            bad, 0.0, bad == 0});
      const double seconds = bench.time(what, rank.plan.collectives.repeats);
      const double n = rank.size;
      const double algorithm = static_cast<double>(bytes) / seconds / 1e9;
      const double bus = algorithm * (what == Collective::all_reduce ? 2 : 1) * (n - 1) / n;
      if (rank.first()) {
        session.reporter.with([&](Report& report) {
          report.bandwidth.push_back({name, bytes, seconds * 1e6, algorithm, bus});
        });
      }
    }
  }
  check.verdict = wrong == 0 ? Verdict::pass : Verdict::fail;
  check.reason = wrong == 0 ? "every value is the one computed from seed, rank and index"
                            : std::to_string(static_cast<long long>(wrong)) + " wrong values";
  check.seconds = seconds_since_start() - begun;
  finish_check(session, std::move(check));
}

}  // namespace shardlint::ranks
