#include "verify/judge.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/strings.h"

namespace shardlint::verify {
namespace {

struct About {
  std::string_view check, code, name, message;
  std::vector<std::string_view> keys;  // last parts; the first that is written is pointed at
};

const std::vector<About>& table() {
  static const std::vector<About> rows = {
      {"environment",
       "VFY101",
       "verify-environment",
       "this machine is not what the configuration needs",
       {"world_size", "nproc_per_node", "n_gpus_per_node", "CUDA_DEVICE_MAX_CONNECTIONS"}},
      {"collectives",
       "VFY102",
       "verify-collectives",
       "a collective operation gave a wrong result",
       {"overlap_grad_reduce", "world_size", "nproc_per_node"}},
      {"finite",
       "VFY103",
       "verify-loss-not-finite",
       "loss or gradient norm is not finite, or the loss does not fall",
       {"grad_reduce_in_bf16", "grad_reduce_in_fp32", "bf16"}},
      {"parity",
       "VFY104",
       "verify-parity",
       "the sharded run does not agree with the unsharded one",
       {"data_parallel_sharding_strategy", "use_megatron_fsdp", "use_torch_fsdp2",
        "use_distributed_optimizer", "average_in_collective"}},
      {"replicas",
       "VFY105",
       "verify-replicas-differ",
       "ranks hold different parameters after the gather",
       {"overlap_param_gather", "data_parallel_sharding_strategy", "use_megatron_fsdp"}},
      {"checkpoint",
       "VFY106",
       "verify-checkpoint",
       "the checkpoint cannot be resumed from as it should",
       {"ckpt_format", "save", "async_save", "load"}},
      {"memory",
       "VFY107",
       "verify-memory",
       "memory is not what the strategy's arithmetic says",
       {"data_parallel_sharding_strategy", "use_megatron_fsdp", "use_distributed_optimizer"}},
      {"hang",
       "VFY001",
       "verify-hang",
       "a rank stopped making progress",
       {"overlap_grad_reduce", "data_parallel_sharding_strategy", "use_megatron_fsdp"}},
      {"died", "VFY002", "verify-rank-died", "a rank's process ended before its time", {}},
      {"error", "VFY003", "verify-not-done", "the verification could not be done", {}},
  };
  return rows;
}

const About& about(std::string_view check) {
  for (const About& row : table()) {
    if (row.check == check) {
      return row;
    }
  }
  return about("error");
}

Diagnostic finding(std::string_view check, std::string detail, const Planned& planned) {
  const About& what = about(check);
  Diagnostic d;
  d.code = what.code;
  d.name = what.name;
  d.message = std::string(what.message) + (detail.empty() ? "" : ": " + detail);
  d.where = place_of(check, planned);
  d.framework = planned.framework;
  for (const Setting& setting : planned.settings) {
    if (setting.where == d.where) {
      d.key = {"", setting.key, setting.value, "set"};
      break;
    }
  }
  d.fingerprint = fmt::format("{:016x}", stable_hash(d.code + "\n" + d.where.file));
  return d;
}

bool all_finite(const std::vector<Run>& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const Run& run) {
    const auto known = [](const Number& n) { return n.has_value(); };
    return std::all_of(run.loss.begin(), run.loss.end(), known) &&
           std::all_of(run.grad_norm.begin(), run.grad_norm.end(), known);
  });
}

// One entry for each wanted check.
std::vector<Check> wanted_checks(const Report& report, const Planned& planned) {
  std::vector<Check> out;
  for (const std::string& name : planned.plan.checks) {
    const auto it = std::find_if(report.checks.begin(), report.checks.end(),
                                 [&](const Check& check) { return check.name == name; });
    Check check = it == report.checks.end()
                      ? Check{name, "fail", "the report does not mention it", 0, {}, {}}
                      : *it;
    if (check.verdict != "pass" && check.verdict != "fail" && check.verdict != "not_here") {
      check.reason = "verdict '" + check.verdict + "' is none: " + check.reason;
      check.verdict = "fail";
    }
    if (check.verdict == "pass") {
      const auto row = std::find_if(check.rows.begin(), check.rows.end(),
                                    [](const CheckRow& r) { return !r.ok; });
      if (row != check.rows.end()) {
        check.verdict = "fail";
        check.reason = "called passed with a row that failed: " + row->what;
      } else if (name == "finite" && (report.runs.empty() || !all_finite(report.runs))) {
        check.verdict = "fail";
        check.reason = report.runs.empty() ? "called passed without a training run"
                                           : "called passed with a loss or norm that is not finite";
      }
    }
    out.push_back(std::move(check));
  }
  return out;
}

std::string where_it_was(const Ending& ending) {
  std::string out = ending.rank >= 0 ? fmt::format("rank {}", ending.rank) : "";
  if (!ending.phase.empty()) {
    out += (out.empty() ? "" : ", ") + ("phase " + ending.phase);
    out += ending.detail.empty() ? "" : " (" + ending.detail + ")";
  }
  return out + (out.empty() ? "" : ", ") + fmt::format("after {:.1f} s", ending.seconds);
}

void judge_checks(Judgement& out, const Report& report, const Planned& planned) {
  std::size_t failed = 0, absent = 0;
  std::string first;
  for (const Check& check : out.checks) {
    failed += check.verdict == "fail" ? 1u : 0u;
    absent += check.verdict == "not_here" ? 1u : 0u;
    if (check.verdict == "fail") {
      first = first.empty() ? check.name + ": " + check.reason : first;
      Diagnostic d = finding(check.name, check.reason, planned);
      for (const CheckFinding& detail : check.findings) {
        d.related.push_back({{detail.file, {}, {}}, detail.code + " " + detail.message});
      }
      out.diagnostics.push_back(std::move(d));
    }
  }
  const std::size_t passed = out.checks.size() - failed - absent;
  if (failed > 0 || report.outcome == "fail") {
    out.outcome = Judgement::Outcome::fail;
    out.exit_code = 1;
    out.headline = "fail: " + (first.empty() ? "the trainer reports a failure" : first);
    if (failed == 0) {
      out.diagnostics.push_back(finding("error", report.message, planned));
    }
  } else if (report.outcome != "pass" || passed == 0) {
    out.outcome = Judgement::Outcome::cannot_run;
    out.exit_code = 77;
    out.headline =
        "nothing proven: " + (report.message.empty() ? "no check could be made" : report.message);
  } else {
    out.outcome = Judgement::Outcome::pass;
    out.exit_code = 0;
    out.headline = planned.data_parallel_only ? "data-parallel part only: passed" : "pass";
    if (absent > 0) {
      out.headline += fmt::format(", {} of {} checks not here", absent, out.checks.size());
    }
  }
}

}  // namespace

Location place_of(std::string_view check, const Planned& planned) {
  for (const std::string_view key : about(check).keys) {
    for (const Setting& setting : planned.settings) {
      const std::string_view last =
          std::string_view(setting.key).substr(setting.key.rfind('.') + 1);
      if (last == key && !setting.where.file.empty()) {
        return setting.where;
      }
    }
  }
  return planned.anchor;
}

void take_back(const Report& report, Planned& planned) {
  struct Row {
    std::string_view plan;  // the plan's name of it
    std::vector<std::string_view> keys;
    bool limits;
  };
  static const std::vector<Row> rows = {
      {"outer_size",
       {"num_distributed_optimizer_instances", "dp_replicate_size", "data_parallel_replicate_size",
        "fsdp_size"},
       true},
      {"outer_strategy", {"outer_dp_sharding_strategy"}, true},
      {"expert_parallel", {"expert_model_parallel_size", "ep_size", "expert_parallel_size"}, true},
      {"experts", {"num_experts", "num_moe_experts"}, true},
      {"top_k", {"moe_router_topk"}, true},
      {"strategy", {"data_parallel_sharding_strategy", "use_megatron_fsdp"}, true},
      {"overlap_grad_reduce", {"overlap_grad_reduce"}, true},
      {"overlap_param_gather", {"overlap_param_gather", "forward_prefetch"}, true},
      {"double_buffer", {"fsdp_double_buffer", "megatron_fsdp_max_pool_double_buffer"}, true},
      {"reduce_dtype", {"grad_reduce_in_bf16", "grad_reduce_in_fp32"}, true},
      {"average_in_collective", {"average_in_collective", "ddp_average_in_collective"}, true},
      {"max_connections", {"CUDA_DEVICE_MAX_CONNECTIONS"}, false},
      {"asynchronous", {"async_save"}, false},
  };
  for (const auto& [what, why] : report.not_exercised) {
    const std::string_view name = std::string_view(what).substr(0, what.find(' '));
    for (const Row& row : rows) {
      for (Setting& setting : planned.settings) {
        const std::string_view last =
            std::string_view(setting.key).substr(setting.key.rfind('.') + 1);
        const bool named = std::find(row.keys.begin(), row.keys.end(), last) != row.keys.end();
        if (row.plan == name && named && setting.use != Use::not_exercised) {
          setting.use = Use::not_exercised;
          setting.how = why;
          setting.limits = row.limits;
          planned.data_parallel_only = planned.data_parallel_only || row.limits;
        }
      }
    }
  }
  std::stable_sort(planned.settings.begin(), planned.settings.end(),
                   [](const Setting& a, const Setting& b) { return a.use < b.use; });
}

Judgement judge(const Launched& launched, const Report& report, const Planned& planned) {
  Judgement out;
  const Ending& ending = launched.ending;
  const std::string kind(ending_name(ending.kind));
  const std::string where = where_it_was(ending);
  const bool reported = report.valid && ending.kind == Ending::Kind::finished;
  if (reported || report.valid) {
    out.checks = wanted_checks(report, planned);
  }
  if (reported) {
    judge_checks(out, report, planned);
    return out;
  }
  for (Check& check : out.checks) {  // what was done before it broke off
    if (check.reason == "the report does not mention it") {
      check.verdict = "not_here";
      check.reason = "not reached";
    }
  }
  out.headline = kind + ": " + ending.message + " [" + where + "]";
  switch (ending.kind) {
    case Ending::Kind::cannot_run:
      out.outcome = Judgement::Outcome::cannot_run;
      out.exit_code = 77;
      return out;
    case Ending::Kind::interrupted:
      out.exit_code = 128 + ending.code;
      return out;
    case Ending::Kind::hang:
    case Ending::Kind::stopped:
    case Ending::Kind::late:
    case Ending::Kind::not_started:
      out.diagnostics.push_back(finding("hang", ending.message + " [" + where + "]", planned));
      return out;
    case Ending::Kind::died:
      out.diagnostics.push_back(finding("died", ending.message + " [" + where + "]", planned));
      return out;
    case Ending::Kind::finished:
      out.headline = "no report: what the trainer sent is none [" + where + "]";
      break;
    case Ending::Kind::refused:
    case Ending::Kind::garbage:
    case Ending::Kind::flood:
      break;
  }
  out.diagnostics.push_back(finding("error", out.headline, planned));
  return out;
}

}  // namespace shardlint::verify
