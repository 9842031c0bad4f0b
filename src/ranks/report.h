#pragma once
// What the trainer found, as values; report.cpp turns them into the JSON that
// docs/verify-protocol.md describes.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "ranks/device.h"
#include "ranks/plan.h"

namespace shardlint::ranks {

enum class Verdict { pass, fail, not_here };

struct Row {
  std::string what;
  std::optional<double> value, expected, difference, limit;
  bool ok = true;
};

struct Finding {
  std::string code, severity, message, file;
};

struct Check {
  std::string name;
  Verdict verdict = Verdict::pass;
  std::string reason;
  double seconds = 0;
  std::vector<Row> rows;
  std::vector<Finding> findings;
};

struct RunRecord {
  std::string name, strategy;
  int outer_size = 1, ranks = 1;
  std::vector<double> loss, grad_norm, step_ms, exposed_ms;
  std::uint64_t tokens_a_step = 0;
  int warm_up = 0;
  std::uint64_t peak_bytes = 0, model_state_bytes = 0;
};
double median(std::vector<double> values);  // NaN when there are none
double median_step_ms(const RunRecord& run);

struct Bandwidth {
  std::string collective;
  std::uint64_t bytes = 0;
  double median_us = 0, algorithm_gbs = 0, bus_gbs = 0;
};

struct MemoryRecord {
  int rank = 0;
  std::string strategy;
  std::uint64_t parameters = 0, gradients = 0, optimizer = 0, gather = 0, activations = 0,
                model_state = 0, expected_model_state = 0, peak = 0, device_used = 0;
};

struct RankDevice {
  int rank = 0;
  std::string host;
  DeviceFacts device;
};

struct RankLink {
  int from = 0, to = 0;
  LinkFacts link;
};

struct CheckpointRecord {
  std::string directory;
  bool kept = false;
  std::uint64_t bytes = 0;
  int files = 0;
  std::optional<double> save_s, check_s, load_s, async_stall_ms, async_write_s;
};

struct TensorRecord {
  std::string name;
  std::vector<std::int64_t> shape;
};

struct Report {
  std::string outcome = "pass", message;
  int ranks = 1, hosts = 1;
  RuntimeFacts runtime;
  std::vector<RankDevice> devices;
  std::vector<RankLink> links;
  std::vector<std::string> exercised;
  std::vector<std::pair<std::string, std::string>> not_exercised;
  std::vector<Check> checks;
  std::vector<RunRecord> runs;
  std::vector<Bandwidth> bandwidth;
  std::vector<MemoryRecord> memory;
  std::optional<CheckpointRecord> checkpoint;
  std::vector<RunRecord> compare;
  std::vector<std::pair<std::string, bool>> faults;  // kind, simulated
  std::vector<TensorRecord> layout;
};

std::string to_json_text(const Check& check);
std::string to_json_text(const Report& report, const Plan& plan);
// Device facts as text through the store.
std::string to_json_text(const RankDevice& device);
RankDevice rank_device_from(const std::string& json_text);
std::string probe_json();
std::string host_name();

}  // namespace shardlint::ranks
