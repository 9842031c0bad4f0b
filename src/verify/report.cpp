#include "verify/report.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace shardlint::verify {
namespace {
using nlohmann::json;

const json& member(const json& object, const char* name) {
  static const json nothing;
  if (!object.is_object()) {
    return nothing;
  }
  const auto it = object.find(name);
  return it == object.end() ? nothing : *it;
}

std::string text(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Number as_number(const json& value) {
  if (!value.is_number()) {
    return {};
  }
  const double number = value.get<double>();
  return std::isfinite(number) ? Number(number) : Number();
}

Number number(const json& object, const char* name) {
  return as_number(member(object, name));
}

int integer(const json& object, const char* name) {
  const Number value = number(object, name);
  return value && std::abs(*value) < 1e9 ? static_cast<int>(*value) : -1;
}

bool flag(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_boolean() && value.get<bool>();
}

template <typename T, typename Read>
std::vector<T> list(const json& object, const char* name, const Read& read) {
  std::vector<T> out;
  const json& array = member(object, name);
  if (array.is_array()) {
    for (const json& item : array) {
      out.push_back(read(item));
    }
  }
  return out;
}

Check read_check(const json& item) {
  Check check;
  check.name = text(item, "name");
  check.verdict = text(item, "verdict");
  check.reason = text(item, "reason");
  check.seconds = number(item, "seconds").value_or(0);
  check.rows = list<CheckRow>(item, "rows", [](const json& row) {
    return CheckRow{text(row, "what"),         number(row, "value"), number(row, "expected"),
                    number(row, "difference"), number(row, "limit"), flag(row, "ok")};
  });
  check.findings = list<CheckFinding>(item, "findings", [](const json& finding) {
    return CheckFinding{text(finding, "code"), text(finding, "severity"), text(finding, "message"),
                        text(finding, "file")};
  });
  return check;
}

Run read_run(const json& item) {
  Run run;
  run.name = text(item, "name");
  run.strategy = text(item, "strategy");
  run.loss = list<Number>(item, "loss", as_number);
  run.grad_norm = list<Number>(item, "grad_norm", as_number);
  run.step_ms = list<Number>(item, "step_ms", as_number);
  run.median_ms = number(item, "median_ms");
  run.tokens_per_s = number(item, "tokens_per_s");
  run.exposed_ms = number(item, "exposed_ms");
  return run;
}

void read_environment(const json& environment, Report& report) {
  report.host = text(environment, "host");
  report.driver = text(environment, "driver");
  report.nccl = text(environment, "nccl");
  report.cublaslt = text(environment, "cublaslt");
  report.ranks = std::max(integer(environment, "ranks"), 0);
  report.devices = list<Device>(environment, "devices", [](const json& device) {
    return Device{integer(device, "rank"),        text(device, "name"),
                  text(device, "capability"),     text(device, "host"),
                  number(device, "memory_bytes"), number(device, "free_bytes")};
  });
  if (const json& variables = member(environment, "variables"); variables.is_object()) {
    for (const auto& [name, value] : variables.items()) {
      if (value.is_string()) {
        report.variables.emplace_back(name, value.get<std::string>());
      }
    }
  }
}

}  // namespace

Report read_report(std::string_view content) {
  const json root = json::parse(content, nullptr, false);
  Report report;
  if (!root.is_object()) {
    return report;
  }
  report.backend = text(root, "backend");
  report.outcome = text(root, "outcome");
  report.message = text(root, "message");
  report.valid = !report.outcome.empty() && member(root, "checks").is_array();
  const json& seconds = member(root, "seconds");
  report.total_seconds = number(seconds, "total");
  if (const json& phases = member(seconds, "phases"); phases.is_object()) {
    for (const auto& [name, value] : phases.items()) {
      report.phase_seconds.emplace_back(name, as_number(value).value_or(0));
    }
  }
  read_environment(member(root, "environment"), report);
  report.exercised = list<std::string>(root, "exercised", [](const json& item) {
    return item.is_string() ? item.get<std::string>() : std::string();
  });
  report.not_exercised = list<std::pair<std::string, std::string>>(
      root, "not_exercised",
      [](const json& item) { return std::pair(text(item, "what"), text(item, "why")); });
  report.checks = list<Check>(root, "checks", read_check);
  report.runs = list<Run>(root, "runs", read_run);
  report.bandwidth = list<Bandwidth>(root, "bandwidth", [](const json& item) {
    return Bandwidth{text(item, "collective"), number(item, "bytes"), number(item, "median_us"),
                     number(item, "algorithm_gbs"), number(item, "bus_gbs")};
  });
  report.memory = list<Memory>(root, "memory", [](const json& item) {
    return Memory{integer(item, "rank"), text(item, "strategy"), number(item, "model_state_bytes"),
                  number(item, "expected_model_state_bytes"), number(item, "peak_bytes")};
  });
  const json& checkpoint = member(root, "checkpoint");
  report.checkpoint_directory = text(checkpoint, "directory");
  report.checkpoint_kept = flag(checkpoint, "kept");
  report.checkpoint_bytes = number(checkpoint, "bytes");
  report.save_s = number(checkpoint, "save_s");
  report.check_s = number(checkpoint, "check_s");
  report.load_s = number(checkpoint, "load_s");
  report.compare = list<Compared>(root, "compare", [](const json& item) {
    return Compared{text(item, "strategy"),       number(item, "median_ms"),
                    number(item, "tokens_per_s"), number(item, "exposed_ms"),
                    number(item, "peak_bytes"),   number(item, "model_state_bytes")};
  });
  report.faults = list<std::pair<std::string, bool>>(root, "faults", [](const json& item) {
    return std::pair(text(item, "kind"), flag(item, "simulated"));
  });
  return report;
}

}  // namespace shardlint::verify
