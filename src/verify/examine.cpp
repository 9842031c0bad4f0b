// Holds what is here against what a configuration needs.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/version.h"
#include "verify/doctor.h"
#include "verify/settings.h"
#include "verify/table.h"

namespace shardlint::verify {
namespace {

using Verdict = Finding::Verdict;

class Examination {
 public:
  Examination(const Machine& machine, const Config* config)
      : m_(machine), config_(config), s_(config, "") {}

  std::vector<Finding> run(bool smoke_test) {
    gpus();
    libraries();
    packages();
    programs(smoke_test);
    limits();
    return std::move(out_);
  }

 private:
  void add(Verdict verdict, std::string what, std::string found, std::string needed = "",
           std::string why = "", std::string_view key = "") {
    Location where;
    if (config_ && !key.empty()) {
      for (const std::string_view name : config_->keys()) {
        const bool same = name == key || name.ends_with("." + std::string(key));
        if (same && config_->find(name)->written()) {
          where = locate(config_->place(name));
          break;
        }
      }
    }
    out_.push_back({verdict, std::move(what), std::move(found), std::move(needed), std::move(why),
                    std::move(where)});
  }

  // GPUs that the configuration wants of one node; 0: it does not say.
  std::int64_t wanted_gpus() const {
    const auto each = s_.integer({"nproc_per_node", "n_gpus_per_node"});
    if (each && *each > 0) {
      return *each;
    }
    const std::int64_t world = s_.integer({"world_size"}).value_or(0);
    const std::int64_t nodes = s_.integer({"nnodes"}).value_or(1);
    return world > 0 && nodes > 0 ? (world + nodes - 1) / nodes : 0;
  }

  void gpus() {
    const Gpus& g = m_.gpus;
    const std::int64_t wanted = wanted_gpus();
    const bool needed = config_ != nullptr;
    if (g.visible.empty()) {
      const std::string found = g.library.empty()    ? "no NVIDIA driver"
                                : !g.problem.empty() ? g.problem
                                : g.all.empty()      ? "the driver sees none"
                                                     : "hidden by CUDA_VISIBLE_DEVICES";
      add(needed ? Verdict::missing : Verdict::info, "GPUs", found,
          wanted > 0 ? fmt::format("{} on this node", wanted)
          : needed   ? "1 or more"
                     : "",
          needed ? "training runs on GPUs" : "", "nproc_per_node");
      return;
    }
    std::string found = fmt::format("{} x {}", g.visible.size(), g.all[0].name);
    const bool enough = wanted == 0 || static_cast<std::int64_t>(g.visible.size()) >= wanted;
    add(enough ? Verdict::ok : Verdict::missing, "GPUs", found,
        wanted > 0 ? fmt::format("{} on this node", wanted) : "", "", "nproc_per_node");
    add(Verdict::ok, "driver",
        fmt::format("{} (CUDA up to {}.{})", g.driver.empty() ? "?" : g.driver, g.cuda / 1000,
                    g.cuda % 1000 / 10));
    capabilities();
    for (std::size_t i = 0; i < g.all.size(); ++i) {
      const Gpu& gpu = g.all[i];
      if (gpu.uncorrected_errors > 0) {
        add(Verdict::missing, fmt::format("GPU {} memory", i),
            fmt::format("{} uncorrected ECC errors", gpu.uncorrected_errors), "none",
            "results cannot be trusted before a reset");
      }
      if (gpu.mig) {
        add(Verdict::warning, fmt::format("GPU {}", i), "partitioned (MIG)", "whole GPUs",
            "NCCL does not join partitions of one GPU");
      }
      if (gpu.total > 0 && gpu.free * 10 < gpu.total * 9) {
        add(Verdict::warning, fmt::format("GPU {} memory", i),
            bytes_text(static_cast<double>(gpu.free)) + " free of " +
                bytes_text(static_cast<double>(gpu.total)),
            "", "something else uses it");
      }
    }
    if (g.visible.size() > 1) {
      add(g.peer_access ? Verdict::ok : Verdict::warning, "peer access",
          g.peer_access ? "between all GPUs" : "not between all GPUs", "",
          g.peer_access ? "" : "collectives go through host memory");
    }
  }

  void capabilities() {
    int least = 1000;
    for (const int ordinal : m_.gpus.visible) {
      if (ordinal >= 0 && static_cast<std::size_t>(ordinal) < m_.gpus.all.size()) {
        const Gpu& gpu = m_.gpus.all[static_cast<std::size_t>(ordinal)];
        least = std::min(least, gpu.major * 10 + gpu.minor);
      }
    }
    const std::string found = fmt::format("{}.{}", least / 10, least % 10);
    const auto need = [&](int capability, const char* what, std::string_view key) {
      add(least >= capability ? Verdict::ok : Verdict::missing, "compute capability", found,
          fmt::format("{}.{}", capability / 10, capability % 10), what, key);
    };
    const std::string recipe = s_.text({"fp8_recipe"});
    if (on({"fp4", "fp4_format"})) {
      need(100, "FP4", "fp4");
    } else if (on({"fp8", "fp8_format"})) {
      need(recipe == "mxfp8" ? 100 : 89, recipe == "mxfp8" ? "MXFP8" : "FP8", "fp8");
    } else if (on({"bf16"}) || s_.text({"dtype"}) == "bfloat16") {
      need(80, "bf16", "bf16");
    } else {
      add(Verdict::ok, "compute capability", found);
    }
  }

  bool on(std::initializer_list<std::string_view> names) const {
    const Value* value = s_.known(names);
    if (!value) {
      return false;
    }
    return value->if_bool() ? *value->if_bool()
                            : value->if_string() && !value->if_string()->empty() &&
                                  *value->if_string() != "none";
  }

  void libraries() {
    const bool several = wanted_gpus() > 1 || m_.gpus.visible.size() > 1;
    const bool gpu = !m_.gpus.visible.empty();
    if (!m_.nccl.path.empty()) {
      add(m_.nccl.version >= 21800 ? Verdict::ok : Verdict::warning, "NCCL",
          nccl_version_text(m_.nccl.version) + " in " + m_.nccl.path,
          m_.nccl.version >= 21800 ? "" : "2.18 or newer");
    } else {
      add(gpu && several ? Verdict::missing : Verdict::info, "NCCL", "not found",
          gpu && several ? "libnccl.so.2" : "", "ranks talk through it");
    }
    if (!m_.cublaslt.path.empty()) {
      add(Verdict::ok, "cuBLASLt", fmt::format("{} in {}", m_.cublaslt.version, m_.cublaslt.path));
    } else {
      add(gpu ? Verdict::warning : Verdict::info, "cuBLASLt", "not found", "",
          "`shardlint verify --backend gpu` multiplies with it");
    }
    add(m_.trainer_gpu || !gpu ? Verdict::ok : Verdict::warning, "verifier",
        m_.trainer_gpu   ? "CPU and GPU trainers are here"
        : m_.trainer_cpu ? "the CPU trainer only"
                         : "no trainer beside this program");
  }

  // A package that is needed at all, or in a version.
  void need(const std::string& name, const std::string& range, const std::string& why,
            std::string_view key = "") {
    const auto it = m_.packages.find(name);
    if (it == m_.packages.end()) {
      add(Verdict::missing, name, "not installed", range.empty() ? "any version" : range, why, key);
      return;
    }
    const auto version = Version::parse(it->second.version);
    const auto wanted = VersionRange::parse(range);
    const bool ok = range.empty() || !wanted || (version && wanted->contains(*version));
    add(ok ? Verdict::ok : Verdict::missing, name, it->second.version, range, why, key);
  }

  void show(const std::string& name) {
    const auto it = m_.packages.find(name);
    if (it != m_.packages.end()) {
      add(Verdict::ok, name, it->second.version);
    }
  }

  void packages() {
    if (m_.python.program.empty()) {
      add(config_ ? Verdict::missing : Verdict::info, "Python", "not found", config_ ? "3" : "");
      return;
    }
    add(Verdict::ok, "Python packages",
        fmt::format("{} in {} folders of {}", m_.packages.size(), m_.python.site_packages.size(),
                    m_.python.program));
    if (!config_) {
      for (const char* name : {"torch", "transformer-engine", "megatron-core", "megatron-fsdp",
                               "megatron-bridge", "verl", "nvidia-resiliency-ext"}) {
        show(name);
      }
      return;
    }
    need("torch", "", "every framework is built on it");
    if (config_->framework == "megatron-bridge") {
      need("megatron-bridge", "", "the framework of this configuration");
      need("megatron-core", "", "the framework's core");
    } else if (config_->framework == "verl") {
      need("verl", "", "the framework of this configuration");
      need("ray", "", "verl's workers");
    } else {
      show("megatron-core");
    }
    // Versions as Megatron-LM's own checks ask for them.
    if (on({"fp4", "fp4_format"})) {
      need("transformer-engine", ">=2.7.0.dev0", "FP4", "fp4");
    } else if (on({"qk_clip"}) || on({"log_max_attention_logit"})) {
      need("transformer-engine", ">=2.9.0", "the largest attention logit",
           on({"qk_clip"}) ? "qk_clip" : "log_max_attention_logit");
    } else if (on({"fp8", "fp8_format"})) {
      need("transformer-engine", "", "FP8", "fp8");
    } else if (s_.text({"transformer_impl"}) == "transformer_engine") {
      need("transformer-engine", "", "transformer_impl", "transformer_impl");
    } else {
      show("transformer-engine");
    }
    if (s_.is_true({"async_save"}) && s_.text({"async_strategy"}) == "nvrx") {
      need("nvidia-resiliency-ext", "", "async_strategy nvrx", "async_save");
    }
  }

  void programs(bool smoke_test) {
    std::vector<std::string> launchers;
    for (const char* name : {"torchrun", "srun", "mpirun"}) {
      if (m_.programs.count(name)) {
        launchers.emplace_back(name);
      }
    }
    const bool several = wanted_gpus() > 1;
    add(!launchers.empty() ? Verdict::ok
        : several          ? Verdict::missing
                           : Verdict::info,
        "launcher", launchers.empty() ? "none" : join(launchers, ", "),
        launchers.empty() && several ? "torchrun, srun or mpirun" : "");
    for (const char* name : {"uv", "pytest"}) {
      const auto it = m_.programs.find(name);
      const bool here = it != m_.programs.end();
      add(here         ? Verdict::ok
          : smoke_test ? Verdict::missing
                       : Verdict::info,
          name, here ? it->second : "not found", "", here ? "" : "the framework's smoke test");
    }
    const auto connections = m_.environment.find("CUDA_DEVICE_MAX_CONNECTIONS");
    const bool fsdp = s_.is_true({"use_megatron_fsdp", "use_torch_fsdp2"});
    if (connections != m_.environment.end()) {
      const bool bad = fsdp && connections->second == "1";
      add(bad ? Verdict::missing : Verdict::ok, "CUDA_DEVICE_MAX_CONNECTIONS", connections->second,
          fsdp ? "unset, or more than 1" : "", bad ? "FSDP's own check refuses 1" : "",
          "use_megatron_fsdp");
    }
  }

  void limits() {
    constexpr double mib = 1 << 20;
    if (m_.shared_memory < 0) {
      add(Verdict::warning, "/dev/shm", "not there", "", "NCCL and data loaders share through it");
    } else {
      const bool small = m_.shared_memory < 1024 * mib;
      add(small ? Verdict::warning : Verdict::ok, "/dev/shm",
          bytes_text(m_.shared_memory) + " free", small ? "1 GiB" : "",
          small ? "NCCL and data loaders share through it; containers give 64 MiB unless told "
                  "(--shm-size, --ipc=host)"
                : "");
    }
    const auto amount = [](double n, const char* unit) {
      return std::isinf(n) ? std::string("unlimited") : fmt::format("{:.0f}{}", n, unit);
    };
    const bool few = m_.open_files < 4096;
    add(few ? Verdict::warning : Verdict::ok, "open files", amount(m_.open_files, ""),
        few ? "4096" : "",
        few ? "ranks, data loaders and checkpoint writers hold many: ulimit -n" : "");
    add(Verdict::info, "locked memory",
        std::isinf(m_.locked_memory) ? "unlimited" : bytes_text(m_.locked_memory), "",
        std::isinf(m_.locked_memory) ? "" : "InfiniBand registers buffers: ulimit -l unlimited");
  }

  const Machine& m_;
  const Config* config_;
  Settings s_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> examine(const Machine& machine, const Config* config, bool smoke_test) {
  return Examination(machine, config).run(smoke_test);
}

}  // namespace shardlint::verify
