#include "ranks/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include <sys/utsname.h>
#include <unistd.h>

#include "ranks/progress.h"

extern char** environ;

namespace shardlint::ranks {

namespace {

using nlohmann::json;

constexpr const char* verdict_names[] = {"pass", "fail", "not_here"};

json number(std::optional<double> value) {
  if (!value) {
    return nullptr;
  }
  // JSON has no word for them, and a reader must see that a number is not one.
  return std::isfinite(*value) ? json(*value) : json(std::isnan(*value) ? "nan" : "infinity");
}

json numbers(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) {
    list.push_back(number(value));
  }
  return list;
}

json to_json(const Check& check) {
  json rows = json::array(), findings = json::array();
  for (const Row& row : check.rows) {
    rows.push_back({{"what", row.what},
                    {"value", number(row.value)},
                    {"expected", number(row.expected)},
                    {"difference", number(row.difference)},
                    {"limit", number(row.limit)},
                    {"ok", row.ok}});
  }
  for (const Finding& finding : check.findings) {
    findings.push_back({{"code", finding.code},
                        {"severity", finding.severity},
                        {"message", finding.message},
                        {"file", finding.file}});
  }
  return {
      {"name", check.name},     {"verdict", verdict_names[static_cast<std::size_t>(check.verdict)]},
      {"reason", check.reason}, {"seconds", check.seconds},
      {"rows", rows},           {"findings", findings}};
}

json to_json(const RankDevice& entry) {
  const DeviceFacts& device = entry.device;
  return {{"rank", entry.rank},
          {"ordinal", device.ordinal},
          {"name", device.name},
          {"capability", device.capability},
          {"multiprocessors", device.multiprocessors},
          {"memory_bytes", device.memory_bytes},
          {"free_bytes", device.free_bytes},
          {"pci", device.pci},
          {"ecc", device.ecc < 0 ? json(nullptr) : json(device.ecc != 0)},
          {"host", entry.host}};
}

json environment(const Report& report) {
  utsname system{};
  ::uname(&system);
  json devices = json::array(), links = json::array(), variables = json::object();
  for (const RankDevice& device : report.devices) {
    devices.push_back(to_json(device));
  }
  for (const RankLink& link : report.links) {
    links.push_back(
        {{"from", link.from},
         {"to", link.to},
         {"peer_access", link.link.known ? json(link.link.peer_access) : json(nullptr)},
         {"kind", link.link.kind},
         {"performance_rank",
          link.link.performance_rank < 0 ? json(nullptr) : json(link.link.performance_rank)}});
  }
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string text = *at;
    if (text.starts_with("CUDA_") || text.starts_with("NCCL_")) {
      variables[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
  }
  return {{"host", host_name()},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"ranks", report.ranks},
          {"hosts", report.hosts},
          {"cpus", std::thread::hardware_concurrency()},
          {"driver", report.runtime.driver},
          {"cuda_runtime", report.runtime.cuda_runtime},
          {"nccl", report.runtime.nccl},
          {"cublaslt", report.runtime.cublaslt},
          {"nccl_path", report.runtime.nccl_path},
          {"cublaslt_path", report.runtime.cublaslt_path},
          {"devices", devices},
          {"links", links},
          {"variables", variables}};
}

json to_json(const RunRecord& run) {
  const double ms = median_step_ms(run);
  const auto late = [&](std::vector<double> values) {
    const std::size_t skip =
        std::min<std::size_t>(static_cast<std::size_t>(run.warm_up), values.size());
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(skip));
    return values;
  };
  const double exposed = median(late(run.exposed_ms));
  return {{"name", run.name},
          {"strategy", run.strategy},
          {"outer_size", run.outer_size},
          {"ranks", run.ranks},
          {"loss", numbers(run.loss)},
          {"grad_norm", numbers(run.grad_norm)},
          {"step_ms", numbers(run.step_ms)},
          {"median_ms", std::isfinite(ms) ? json(ms) : json(nullptr)},
          {"tokens_per_s", std::isfinite(ms) && ms > 0
                               ? json(static_cast<double>(run.tokens_a_step) / ms * 1e3)
                               : json(nullptr)},
          {"exposed_ms", std::isfinite(exposed) ? json(exposed) : json(nullptr)},
          {"peak_bytes", run.peak_bytes},
          {"model_state_bytes", run.model_state_bytes}};
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return std::nan("");
  }
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double median_step_ms(const RunRecord& run) {
  std::vector<double> late;
  for (std::size_t i = static_cast<std::size_t>(run.warm_up); i < run.step_ms.size(); ++i) {
    late.push_back(run.step_ms[i]);
  }
  return median(late);
}

std::string to_json_text(const Check& check) {
  return to_json(check).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_json_text(const RankDevice& device) {
  return to_json(device).dump();
}

RankDevice rank_device_from(const std::string& json_text) {
  const json at = json::parse(json_text);
  RankDevice entry;
  entry.rank = at["rank"];
  entry.host = at["host"];
  entry.device.ordinal = at["ordinal"];
  entry.device.name = at["name"];
  entry.device.capability = at["capability"];
  entry.device.multiprocessors = at["multiprocessors"];
  entry.device.memory_bytes = at["memory_bytes"];
  entry.device.free_bytes = at["free_bytes"];
  entry.device.pci = at["pci"];
  entry.device.ecc = at["ecc"].is_null() ? -1 : static_cast<int>(at["ecc"].get<bool>());
  return entry;
}

std::string to_json_text(const Report& report, const Plan& plan) {
  json root = {{"version", 1},
               {"backend", backend_name()},
               {"outcome", report.outcome},
               {"message", report.message},
               {"environment", environment(report)},
               {"plan", json::parse(to_json_text(plan))},
               {"exercised", report.exercised}};
  json phases = json::object();
  for (const char* phase :
       {"start", "join", "environment", "collectives", "train", "parity", "replicas",
        "checkpoint_save", "checkpoint_check", "checkpoint_resume", "checkpoint_reshard",
        "checkpoint_async", "memory", "compare", "finish"}) {
    if (const double seconds = seconds_in(phase); seconds > 0) {
      phases[phase] = seconds;
    }
  }
  root["seconds"] = {{"total", seconds_since_start()}, {"phases", phases}};
  const auto list = [&](const char* key) -> json& { return root[key] = json::array(); };
  json& not_exercised = list("not_exercised");
  for (const auto& [what, why] : report.not_exercised) {
    not_exercised.push_back({{"what", what}, {"why", why}});
  }
  json& checks = list("checks");
  for (const Check& check : report.checks) {
    checks.push_back(to_json(check));
  }
  json& runs = list("runs");
  for (const RunRecord& run : report.runs) {
    runs.push_back(to_json(run));
  }
  json& bandwidth = list("bandwidth");
  for (const Bandwidth& row : report.bandwidth) {
    bandwidth.push_back({{"collective", row.collective},
                         {"bytes", row.bytes},
                         {"median_us", row.median_us},
                         {"algorithm_gbs", row.algorithm_gbs},
                         {"bus_gbs", row.bus_gbs}});
  }
  json& memory = list("memory");
  for (const MemoryRecord& row : report.memory) {
    memory.push_back(
        {{"rank", row.rank},
         {"strategy", row.strategy},
         {"parameters_bytes", row.parameters},
         {"gradients_bytes", row.gradients},
         {"optimizer_bytes", row.optimizer},
         {"gather_bytes", row.gather},
         {"activations_bytes", row.activations},
         {"model_state_bytes", row.model_state},
         {"expected_model_state_bytes", row.expected_model_state},
         {"peak_bytes", row.peak},
         {"device_used_bytes", row.device_used == 0 ? json(nullptr) : json(row.device_used)}});
  }
  if (report.checkpoint) {
    const CheckpointRecord& c = *report.checkpoint;
    root["checkpoint"] = {{"directory", c.directory},
                          {"kept", c.kept},
                          {"bytes", c.bytes},
                          {"files", c.files},
                          {"save_s", number(c.save_s)},
                          {"check_s", number(c.check_s)},
                          {"load_s", number(c.load_s)},
                          {"async_stall_ms", number(c.async_stall_ms)},
                          {"async_write_s", number(c.async_write_s)}};
  } else {
    root["checkpoint"] = nullptr;
  }
  json& compare = list("compare");
  for (const RunRecord& run : report.compare) {
    compare.push_back(to_json(run));
  }
  json& faults = list("faults");
  for (const auto& [kind, simulated] : report.faults) {
    faults.push_back({{"kind", kind}, {"simulated", simulated}});
  }
  json& layout = list("layout");
  for (const TensorRecord& tensor : report.layout) {
    layout.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string probe_json() {
  Report report;
  std::string why;
  const int count = device_count(why);
  std::string libraries = load_libraries(report.runtime);
  report.ranks = 0;
  const int shown = backend_name() == "cpu" ? 1 : count;
  for (int i = 0; i < shown; ++i) {
    use_device(i);
    report.devices.push_back({i, host_name(), device_facts(i)});
  }
  for (const RankDevice& from : report.devices) {
    for (const RankDevice& to : report.devices) {
      if (from.rank != to.rank) {
        report.links.push_back({from.rank, to.rank, link_facts(from.device, to.device)});
      }
    }
  }
  json all = environment(report);
  all["device_count"] = count;
  all["unavailable"] = count == 0 ? why : libraries;
  return all.dump();
}

}  // namespace shardlint::ranks
