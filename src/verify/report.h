#pragma once
// The trainer's report (docs/verify-protocol.md) as plain data. A number that was not measured is
// nothing, never 0; a field of the wrong type is a missing one.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardlint::verify {

using Number = std::optional<double>;

struct CheckRow {
  std::string what;
  Number value, expected, difference, limit;
  bool ok = false;
};

struct CheckFinding {
  std::string code, severity, message, file;
};

struct Check {
  std::string name;
  std::string verdict;  // pass | fail | not_here
  std::string reason;
  double seconds = 0;
  std::vector<CheckRow> rows;
  std::vector<CheckFinding> findings;
};

struct Run {
  std::string name, strategy;
  std::vector<Number> loss, grad_norm, step_ms;  // nothing: not finite, or not measured
  Number median_ms, tokens_per_s, exposed_ms;
};

struct Bandwidth {
  std::string collective;
  Number bytes, median_us, algorithm_gbs, bus_gbs;
};

struct Memory {
  int rank = -1;
  std::string strategy;
  Number model_state, expected_model_state, peak;
};

struct Compared {
  std::string strategy;
  Number median_ms, tokens_per_s, exposed_ms, peak_bytes, model_state_bytes;
};

struct Device {
  int rank = -1;
  std::string name, capability, host;
  Number memory_bytes, free_bytes;
};

struct Report {
  bool valid = false;
  std::string backend, outcome, message;
  Number total_seconds;
  std::vector<std::pair<std::string, double>> phase_seconds;
  std::string host, driver, nccl, cublaslt;
  int ranks = 0;
  std::vector<Device> devices;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> exercised;
  std::vector<std::pair<std::string, std::string>> not_exercised;
  std::vector<Check> checks;
  std::vector<Run> runs;
  std::vector<Bandwidth> bandwidth;
  std::vector<Memory> memory;
  std::string checkpoint_directory;
  bool checkpoint_kept = false;
  Number checkpoint_bytes, save_s, check_s, load_s;
  std::vector<Compared> compare;
  std::vector<std::pair<std::string, bool>> faults;  // kind, simulated
};

// Never throws; `valid` is false when the text is no report.
Report read_report(std::string_view text);

}  // namespace shardlint::verify
