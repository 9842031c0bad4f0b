#pragma once
// One report that has everything a format can be asked to show, for tests.

#include "report/report.h"
#include "source/source.h"

namespace shardlint {

inline constexpr const char* sample_text =
    "# d\xC3\xA9mo\n"
    "ddp:\n"
    "  use_megatron_fsdp: true\n"
    "checkpoint:\n"
    "  save: /ckpt\n"
    "  ckpt_format: torch_dist  # \x1b[31mred\n";

inline Location sample_place(std::string_view word) {
  static const Source source("conf/a b.yaml", sample_text);
  const auto begin = static_cast<std::uint32_t>(source.text().find(word));
  return locate({&source, begin, begin + static_cast<std::uint32_t>(word.size())});
}

inline Report sample_report() {
  Diagnostic bad;
  bad.code = "CKP104";
  bad.name = "megatron-fsdp-checkpoint-format";
  bad.message = "`checkpoint.ckpt_format` is `torch_dist`, but Megatron FSDP needs `fsdp_dtensor`";
  bad.help = "set `checkpoint.ckpt_format` to `fsdp_dtensor`";
  bad.where = sample_place("torch_dist");
  bad.key = {"checkpoint.format", "checkpoint.ckpt_format", "torch_dist", "set"};
  bad.framework = "megatron-bridge";
  bad.framework_version = "0.7.0";
  bad.case_id = "bridge-v1";
  bad.related = {{sample_place("use_megatron_fsdp: true"), "Megatron FSDP is turned on here"},
                 {sample_place("save"), "a checkpoint is saved here"}};
  bad.flow = {{sample_place("ckpt_format"), "written here"}, {{}, "default of the class"}};
  bad.fixes = {{"set the format", Safety::safe, {{bad.where, "fsdp_dtensor"}}},
               {"shown only", Safety::display, {}}};
  bad.evidence = {{"NVIDIA-NeMo/Megatron-Bridge", "067f987df03b8355b03192d88d70f1709fedf51a",
                   "src/megatron/bridge/training/config.py", "1104-1109", "assert"}};
  bad.fingerprint = "0123456789abcdef";

  Diagnostic open = bad;
  open.code = "CKP105";
  open.name = "something-undecided";
  open.severity = Severity::warning;
  open.verdict = Verdict::unknown;
  open.message = "<whether> \"quotes\" & | bars,\nand: lines";
  open.where = sample_place("save: /ckpt");
  open.unknowns = {{"env.FSDP", "env", "not given; supply it with --env FSDP=...", open.where}};
  open.related.clear();
  open.flow.clear();
  open.fixes.clear();
  open.fingerprint = "0123456789abcdee";

  Diagnostic nowhere;
  nowhere.code = "ARG001";
  nowhere.severity = Severity::info;
  nowhere.message = "no place";
  nowhere.fingerprint = "0123456789abcded";

  Report report;
  report.diagnostics = {nowhere, open, bad};
  Diagnostic quiet = bad;
  quiet.fingerprint = "0123456789abcdec";
  report.suppressed = {{quiet, "inline", "converted offline"}, {quiet, "baseline", ""}};
  report.suppressed[1].diagnostic.fingerprint = "0123456789abcdeb";
  report.errors = {{"gone.yaml", "no such file"}};
  RuleInfo rule;
  rule.code = "CKP104";
  rule.name = "megatron-fsdp-checkpoint-format";
  rule.summary = "Megatron FSDP needs the fsdp_dtensor checkpoint format.";
  rule.rationale = "The validator stops the job.";
  rule.help = "Set it.";
  rule.tags = {"checkpoint"};
  report.rules = {rule};
  report.targets = {{"megatron-bridge", "0.7.0", "", ""},
                    {"megatron-lm", "0.17.0", "0.17.1", "uv.lock:3"}};
  report.files = 2;
  report.skipped = 1;
  report.clean_files = {"clean.yaml"};
  report.text = [](const std::string& path) {
    return path == "conf/a b.yaml" ? std::optional<std::string>(sample_text) : std::nullopt;
  };
  return report;
}

}  // namespace shardlint
