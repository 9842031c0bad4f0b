#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "verify/doctor.h"
#include "verify/judge.h"
#include "verify/launcher.h"
#include "verify/plan.h"

using namespace shardlint;
using namespace shardlint::verify;

namespace {

// A configuration made of keys and values, each on a line of its own.
struct Written {
  Source source;
  Config config;
  Written(const std::string& framework, const std::vector<std::pair<std::string, Value>>& values)
      : source("train.yaml", text_of(values)) {
    Facts facts;
    facts.framework = framework;
    facts.closed = true;
    std::uint32_t at = 0;
    for (const auto& [key, value] : values) {
      const auto end = at + static_cast<std::uint32_t>(key.size());
      facts.facts.push_back({key, value, {&source, at, end}, {&source, at, end}, Origin::set, ""});
      at = end + 1;
    }
    config = merge({facts});
  }
  static std::string text_of(const std::vector<std::pair<std::string, Value>>& values) {
    std::string text;
    for (const auto& [key, value] : values) {
      text += key + "\n";
    }
    return text;
  }
};

const Setting* find(const Planned& planned, std::string_view key) {
  for (const Setting& setting : planned.settings) {
    if (setting.key == key) {
      return &setting;
    }
  }
  return nullptr;
}

}  // namespace

TEST_SUITE("verify") {
  TEST_CASE("the plan follows the configuration") {
    struct Row {
      const char* framework;
      std::vector<std::pair<std::string, Value>> values;
      const char* strategy;
      bool limited;
    };
    const Row rows[] = {
        {"megatron-lm", {{"use_megatron_fsdp", true}}, "optim_grads_params", false},
        {"megatron-bridge", {{"dist.use_megatron_fsdp", true}}, "no_shard", false},
        {"megatron-bridge",
         {{"ddp.use_megatron_fsdp", true}, {"ddp.data_parallel_sharding_strategy", "optim_grads"}},
         "optim_grads",
         false},
        {"megatron-lm", {{"use_distributed_optimizer", true}}, "optim", false},
        {"megatron-lm", {{"bf16", true}}, "no_shard", false},
        {"megatron-lm", {{"use_torch_fsdp2", true}}, "optim_grads_params", false},
        {"megatron-lm",
         {{"use_torch_fsdp2", true}, {"torch_fsdp2_reshard_after_forward", false}},
         "optim_grads",
         false},
        {"verl",
         {{"actor_rollout_ref.actor.megatron.use_megatron_fsdp", true},
          {"actor_rollout_ref.ref.megatron.tensor_model_parallel_size", 4}},
         "optim_grads_params",
         false},
        {"verl",
         {{"actor_rollout_ref.actor.megatron.use_megatron_fsdp", true},
          {"actor_rollout_ref.actor.megatron.tensor_model_parallel_size", 4}},
         "optim_grads_params",
         true},
        {"megatron-lm",
         {{"use_megatron_fsdp", true},
          {"data_parallel_sharding_strategy", unknown(Reason::environment, "$S")}},
         "optim_grads_params",
         true},
        {"megatron-lm",
         {{"use_megatron_fsdp", true}, {"fp8", "hybrid"}},
         "optim_grads_params",
         true},
        {"megatron-lm", {{"fp8", false}, {"tensor_model_parallel_size", 1}}, "no_shard", false},
        {"megatron-lm",
         {{"pipeline_model_parallel_size", unknown(Reason::argument, "$1")}},
         "no_shard",
         true},
        {"megatron-lm", {{"optimizer", "muon"}}, "no_shard", true},
        {"megatron-lm",
         {{"use_megatron_fsdp", true}, {"data_parallel_sharding_strategy", "all"}},
         "optim_grads_params",
         true},
    };
    for (const Row& row : rows) {
      const Written written(row.framework, row.values);
      const Planned planned = make_plan(&written.config, Wishes{});
      CAPTURE(row.framework);
      CAPTURE(row.values.back().first);
      CHECK(planned.plan.strategy == row.strategy);
      CHECK(planned.data_parallel_only == row.limited);
      CHECK(planned.settings.size() == row.values.size());  // every one is listed
      for (const Setting& setting : planned.settings) {
        CHECK(setting.where.file == "train.yaml");
      }
    }
  }
  TEST_CASE("sizes are scaled to what is here, and it is said") {
    const Written written("megatron-lm", {{"world_size", 64},
                                          {"micro_batch_size", 2},
                                          {"global_batch_size", 1024},
                                          {"num_experts", 64},
                                          {"expert_model_parallel_size", 8},
                                          {"num_distributed_optimizer_instances", 8},
                                          {"use_megatron_fsdp", true},
                                          {"env.CUDA_DEVICE_MAX_CONNECTIONS", "8"},
                                          {"env.NCCL_ALGO", "Ring"},
                                          {"env.HOME", "/x"},
                                          {"adam_beta2", 0.99},
                                          {"hidden_size", 8192}});
    Wishes wishes;
    wishes.ranks = 2;
    Planned planned = make_plan(&written.config, wishes);
    CHECK(planned.plan.micro_batches == 2);
    CHECK(planned.plan.expert_parallel == 2);
    CHECK(planned.plan.experts == 4);
    CHECK(planned.plan.outer_size == 1);
    CHECK(planned.data_parallel_only);  // the outer group needs four ranks
    CHECK(planned.plan.max_connections == 8);
    CHECK(planned.plan.beta2 == 0.99);
    CHECK(find(planned, "hidden_size")->use == Use::scaled);
    CHECK(find(planned, "hidden_size")->where.begin.line == 12);
    CHECK(find(planned, "env.HOME")->use == Use::not_exercised);
    CHECK(planned.environment.size() == 2);
    wishes.ranks = 8;
    planned = make_plan(&written.config, wishes);
    CHECK(planned.plan.outer_size == 4);
    CHECK(planned.plan.expert_parallel == 8);
    CHECK(planned.plan.experts == 8);
    CHECK_FALSE(planned.data_parallel_only);
    CHECK(planned.digest.starts_with("fnv1a64:"));
    const nlohmann::json plan = nlohmann::json::parse(to_json(planned.plan));
    CHECK(plan["parallel"]["outer_size"] == 4);
    CHECK(plan["model"]["experts"] == 8);
  }
  TEST_CASE("a finding stands at the configuration's line") {
    const Written written("megatron-lm", {{"bf16", true},
                                          {"use_megatron_fsdp", true},
                                          {"data_parallel_sharding_strategy", "optim"}});
    const Planned planned = make_plan(&written.config, Wishes{});
    CHECK(place_of("parity", planned).begin.line == 3);
    CHECK(place_of("finite", planned).begin.line == 1);
  }
  TEST_CASE("faults on the command line") {
    CHECK(parse_fault("kill:1:2").rank == 1);
    CHECK(parse_fault("scale_gradient:0:1:2.5").factor == 2.5);
    CHECK(parse_fault("little_memory:0:0:1e9").bytes == 1000000000);
    for (const char* bad : {"", "burn", "kill:x", "kill:1:2:3:4", "kill:-1"}) {
      CAPTURE(bad);
      CHECK_THROWS_AS(parse_fault(bad), Error);
    }
  }
  TEST_CASE("doctor: the machine against the configuration") {
    Machine machine;
    machine.python.program = "/usr/bin/python3";
    machine.shared_memory = 64 << 20;
    machine.open_files = 1024;
    machine.locked_memory = 65536;
    const auto verdict_of = [](const std::vector<Finding>& findings, std::string_view what) {
      for (const Finding& finding : findings) {
        if (finding.what == what) {
          return static_cast<int>(finding.verdict);
        }
      }
      return -1;
    };
    const int ok = static_cast<int>(Finding::Verdict::ok);
    const int info = static_cast<int>(Finding::Verdict::info);
    const int warning = static_cast<int>(Finding::Verdict::warning);
    const int missing = static_cast<int>(Finding::Verdict::missing);
    CHECK(verdict_of(examine(machine, nullptr, false), "GPUs") == info);
    const Written written("megatron-lm",
                          {{"nproc_per_node", 8}, {"fp4", "nvfp4"}, {"use_megatron_fsdp", true}});
    CHECK(verdict_of(examine(machine, &written.config, false), "GPUs") == missing);
    machine.gpus.all.assign(8, Gpu{});
    for (Gpu& gpu : machine.gpus.all) {
      gpu.name = "NVIDIA H200";
      gpu.major = 9;
      gpu.total = gpu.free = std::uint64_t{140} << 30;
    }
    machine.gpus.visible = {0, 1, 2, 3, 4, 5, 6, 7};
    machine.gpus.library = "libnvidia-ml.so.1";
    machine.gpus.all[3].uncorrected_errors = 2;
    machine.nccl = {"/usr/lib/libnccl.so.2", 22809};
    machine.packages["torch"] = {"2.11.0", ""};
    machine.packages["transformer-engine"] = {"2.6.0", ""};
    machine.programs["torchrun"] = "/usr/bin/torchrun";
    machine.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
    const auto findings = examine(machine, &written.config, true);
    struct Row {
      const char* what;
      int verdict;
    };
    for (const Row& row : {Row{"GPUs", ok},
                           {"compute capability", missing},  // FP4 needs 10.0
                           {"GPU 3 memory", missing},
                           {"NCCL", ok},
                           {"torch", ok},
                           {"transformer-engine", missing},  // 2.7 for FP4
                           {"launcher", ok},
                           {"uv", missing},
                           {"CUDA_DEVICE_MAX_CONNECTIONS", missing},
                           {"/dev/shm", warning},
                           {"open files", warning}}) {
      CAPTURE(row.what);
      CHECK(verdict_of(findings, row.what) == row.verdict);
    }
  }
  TEST_CASE("installed packages are read from their folders' names") {
    char name[] = "/tmp/shardlint-test-XXXXXX";
    REQUIRE(::mkdtemp(name));
    const std::string folder = name;
    const std::string made[] = {folder + "/Transformer_Engine-2.7.0.dist-info",
                                folder + "/torch-2.11.0+cu130.dist-info",
                                folder + "/old-1.0-py3.9.egg-info"};
    for (const std::string& path : made) {
      REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    }
    const auto packages = installed({folder});
    CHECK(packages.at("transformer-engine").version == "2.7.0");
    CHECK(packages.at("torch").version == "2.11.0+cu130");
    CHECK(packages.at("old").version == "1.0");
    for (const std::string& path : made) {
      ::rmdir(path.c_str());
    }
    ::rmdir(name);
  }
  TEST_CASE("launchers") {
    using Variables = std::map<std::string, std::string>;
    const auto of = [](const Variables& variables) {
      return rank_of_job([&](const char* name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      });
    };
    CHECK_FALSE(of({}));
    CHECK_FALSE(of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
    const auto torchrun = of({{"RANK", "3"},
                              {"WORLD_SIZE", "4"},
                              {"LOCAL_RANK", "1"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    CHECK(torchrun->rank == 3);
    CHECK(torchrun->set[0].second == "29501");  // the agent listens at the other
    // A batch script is no task of srun's.
    CHECK_FALSE(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
    const auto srun = of({{"SLURM_PROCID", "1"},
                          {"SLURM_NTASKS", "4"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NODELIST", "gpu[003-006,9]"}});
    CHECK(srun->launcher == "srun");
    CHECK(srun->set[0].second == "gpu003");
    const auto mpi = of({{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
    CHECK(mpi->set[0].second == "127.0.0.1");
    CHECK_THROWS_AS(of({{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
                    Error);
    CHECK_THROWS_AS(of({{"RANK", "5"}, {"WORLD_SIZE", "2"}}), Error);
    CHECK(first_host("a,b") == "a");
    CHECK(first_host("a-[01,03]x,b") == "a-01x");
  }
  TEST_CASE("verl turns overlapped reduction on with Megatron-FSDP") {
    const char* use = "actor_rollout_ref.actor.megatron.use_megatron_fsdp";
    const char* overlap =
        "actor_rollout_ref.actor.megatron.override_ddp_config.overlap_grad_reduce";
    const Written plain("verl", {{use, true}});
    CHECK(make_plan(&plain.config, Wishes{}).plan.overlap_grad_reduce);
    const Written off("verl", {{use, true}, {overlap, false}});
    CHECK_FALSE(make_plan(&off.config, Wishes{}).plan.overlap_grad_reduce);
  }
  TEST_CASE("what the trainer leaves out after all is not called exercised") {
    const Written written("megatron-lm", {{"use_megatron_fsdp", true},
                                          {"num_distributed_optimizer_instances", 2},
                                          {"outer_dp_sharding_strategy", "optim"},
                                          {"env.CUDA_DEVICE_MAX_CONNECTIONS", "8"}});
    Wishes wishes;
    wishes.ranks = 4;
    Planned planned = make_plan(&written.config, wishes);
    CHECK_FALSE(planned.data_parallel_only);
    Report report;
    report.not_exercised = {{"max_connections 8", "no launch queues"}};
    take_back(report, planned);
    CHECK_FALSE(planned.data_parallel_only);
    CHECK(find(planned, "env.CUDA_DEVICE_MAX_CONNECTIONS")->use == Use::not_exercised);
    report.not_exercised = {{"outer_strategy optim", "whole state in every replica"}};
    take_back(report, planned);
    CHECK(planned.data_parallel_only);
    CHECK(find(planned, "outer_dp_sharding_strategy")->how == "whole state in every replica");
  }
  TEST_CASE("a value that upstream's steps leave open is taken as written, and it is said") {
    const Source source("a.yaml", "overlap_grad_reduce: true");
    Config config;
    config.framework = "megatron-bridge";
    const Span span{&source, 0, 19};
    config.set("ddp.overlap_grad_reduce", {true, Origin::set, span, span, ""});
    config.set("ddp.overlap_grad_reduce",
               {unknown(Reason::branch, "comm_overlap"), Origin::rewritten, {}, {}, "step"});
    const Planned planned = make_plan(&config, Wishes{});
    CHECK(planned.plan.overlap_grad_reduce);
    CHECK(find(planned, "ddp.overlap_grad_reduce")->how.starts_with("(as written;"));
  }
}
