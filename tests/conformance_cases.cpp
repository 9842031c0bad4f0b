#include "conformance_cases.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "frontend/overrides/argparse.h"
#include "frontend/overrides/hydra.h"
#include "rules/pack.h"

namespace shardlint {
namespace {

using nlohmann::json;

const std::map<std::string, std::string, std::less<>>& dtype_names() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"torch.float32", "fp32"}, {"float32", "fp32"},    {"torch.bfloat16", "bf16"},
      {"bfloat16", "bf16"},      {"float16", "fp16"},    {"torch.float16", "fp16"},
      {"torch.half", "fp16"},    {"torch.uint8", "fp8"}, {"uint8", "fp8"}};
  return names;
}

// "[<CudaGraphModule.attn: 1>]" as "[attn]".
std::string without_enum_marks(std::string text) {
  for (auto open = text.find('<'); open != std::string::npos; open = text.find('<', open)) {
    const auto dot = text.find('.', open), colon = text.find(':', open),
               close = text.find('>', open);
    if (!(dot < colon && colon < close && close != std::string::npos)) {
      break;
    }
    text = text.substr(0, open) + text.substr(dot + 1, colon - dot - 1) + text.substr(close + 1);
  }
  return text;
}

std::string plain(const Value& value) {
  std::string text = without_enum_marks(value.text());
  if (const auto it = dtype_names().find(text); it != dtype_names().end()) {
    return it->second;
  }
  const auto dot = text.rfind('.');  // Enum.member
  if (dot != std::string::npos && dot > 0 && text[0] >= 'A' && text[0] <= 'Z') {
    return text.substr(dot + 1);
  }
  return text;
}

}  // namespace

Value recorded_value(const json& value) {
  if (value.is_null() || (value.is_string() && value.get<std::string>() == "<unset>")) {
    return {};
  }
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.size() > 2 && text.front() == '<' && text.back() == '>') {  // a callable, by name
      text = text.substr(1, text.size() - 2);
      text = text.substr(text.rfind('.') + 1);
    }
    return text.starts_with("torch.") ? text.substr(6) : text;
  }
  if (value.is_array()) {
    List out;
    for (const json& item : value) {
      out.push_back(recorded_value(item));
    }
    return out;
  }
  Map out;
  for (const auto& [key, item] : value.items()) {
    out.emplace_back(key, recorded_value(item));
  }
  return out;
}

bool same_recorded(const Value& a, const Value& b) {
  if (a.is_unknown() || b.is_unknown()) {
    return false;
  }
  const List *x = a.if_list(), *y = b.if_list();
  if (x && y) {
    bool same = x->size() == y->size();
    for (std::size_t i = 0; same && i < x->size(); ++i) {
      same = same_recorded((*x)[i], (*y)[i]);
    }
    return same;
  }
  return a == b || plain(a) == plain(b);
}

Value RecordedCase::initial(const std::string& key) const {
  const Key* found = schema->find(key);
  return found ? found->default_value(config.framework == "megatron-lm" ? Route::cli : Route::cls)
               : Value();
}

bool RecordedCase::counts(const std::string& key) const {
  // Not recorded: the environment, what a precision recipe expands to, our own helper keys, and
  // callables.
  for (const char* prefix : {"env.", "mixed_precision", "derived.", "comm_overlap.user_comm"}) {
    if (key.starts_with(prefix)) {
      return false;
    }
  }
  // verl's recorder does not follow the data section, and its loader ignores the sampler that gives
  // each rank its part of an SFT data set.
  if (config.framework == "verl" &&
      (key == "optim.total_training_steps" || key.starts_with("data."))) {
    return false;
  }
  return key.find("_type") == std::string::npos && key.find("init_method") == std::string::npos &&
         key != "dist.use_megatron_fsdp_requested" &&
         // Upstream appends to this list in place, so that a record shows no change.
         key != "high_priority_stream_groups";
}

CaseReader::CaseReader(const json& header) {
  framework_ = header.value("record", header.contains("bases") ? "megatron-bridge" : "");
  const std::string commit = header.value("commit", "");
  schema_ = Schema::get(framework_, commit.substr(0, 8));
  if (!schema_) {
    throw Error("no such framework: " + framework_);
  }
  program_ = rules::make_program(rules::builtin_rules(), *schema_);
  bases_ = header.value("bases", json::object());
  for (const rules::Stages& stages : rules::builtin_rules().stages) {
    for (unsigned i = 0; stages.framework == framework_ && i < stages.names.size(); ++i) {
      const std::string_view name = stages.names[i];
      const json executed =
          header.value("stages", framework_ == "megatron-bridge"
                                     ? json::array({"config-build", "runtime-config", "validate"})
                                     : json::array());
      for (const json& stage : executed) {
        if (stage == name) {
          stages_.insert(i);
        }
      }
    }
  }
  for (const rules::ProgramStep& step : program_.steps) {
    for (const std::string_view key : step.keys) {
      if (key.starts_with("env.")) {
        environment_.insert(std::string(key));
      }
    }
  }
  sources_ = std::make_shared<Sources>();
}

RecordedCase CaseReader::read(const json& record) {
  RecordedCase out;
  out.schema = schema_;
  out.stages = stages_;
  out.config.framework = framework_;
  out.config.closed = true;
  if (framework_ == "megatron-lm") {
    read_megatron_lm(record, out);
  } else if (framework_ == "megatron-bridge") {
    read_megatron_bridge(record, out);
  } else {
    read_verl(record, out);
  }
  close_environment(record, out.config);
  return out;
}

void CaseReader::set(Config& config, const std::string& key, Value value) {
  config.set(key, {std::move(value), Origin::set, {}, {}, ""});
}

// The recorder knew its whole environment: what it did not set was not set.
void CaseReader::close_environment(const json& record, Config& config) {
  for (const std::string& key : environment_) {
    set(config, key, Value());
  }
  const json environment = record.value("env", json::object());
  for (const auto& [name, value] : environment.items()) {
    set(config, "env." + name, recorded_value(value));
  }
}

void CaseReader::read_megatron_lm(const json& record, RecordedCase& out) {
  std::vector<Word> words;
  // The recorder stopped before values are taken from a checkpoint.
  bool from_checkpoint = false;
  for (const json& word : record["argv"]) {
    if (word == "--use-checkpoint-args") {
      from_checkpoint = true;
    } else {
      words.push_back(literal_word(word.get<std::string>()));
    }
  }
  const ArgumentList list =
      read_argument_list(words, {std::string(schema_->version()), "pretrain_gpt.py"});
  for (const Diagnostic& d : list.diagnostics) {
    if (d.severity == Severity::error && d.verdict == Verdict::violation) {
      out.parse_errors.push_back(d.message);
    }
  }
  for (const Fact& fact : list.facts.facts) {
    set(out.config, fact.key, fact.value);
  }
  if (from_checkpoint) {
    set(out.config, "use_checkpoint_args", true);
  }
  for (const char* package :
       {"nvidia_resiliency_ext", "torch_memory_saver", "multistorageclient"}) {
    set(out.config, fmt::format("software.{}_installed", package), false);
  }
  set(out.config, "world_size", recorded_value(record["world_size"]));
  set(out.config, "device.compute_capability", recorded_value(record["arch"]));
  set(out.config, "device.cuda_available", record.value("cuda_available", false));
  set(out.config, "te_version", record.value("te_version", "99.0"));
  set(out.config, "torch_version", "2.11.0");
  set(out.config, "software.flashinfer_version", record.value("flashinfer_version", "0"));
}

void CaseReader::read_megatron_bridge(const json& record, RecordedCase& out) {
  std::map<std::string, Value> values;
  for (const auto& [key, value] : bases_[record["base"].get<std::string>()].items()) {
    values[key] = recorded_value(value);
  }
  for (const auto& [key, value] : record["config"].items()) {
    if (value == "<absent>") {
      values.erase(key);
    } else {
      values[key] = recorded_value(value);
    }
  }
  for (auto& [key, value] : values) {
    set(out.config, key, std::move(value));
  }
  set(out.config, "world_size", recorded_value(record["world_size"]));
  set(out.config, "device.compute_capability", recorded_value(record["compute_capability"]));
  set(out.config, "device.name", recorded_value(record["device_name"]));
  for (const auto& section : record.value("rebuild", json::array())) {
    set(out.config, "derived." + section.get<std::string>() + "_constructed", true);
  }
  set(out.config, "runtime.transformer_engine", recorded_value(record["transformer_engine"]));
  set(out.config, "runtime.torch", recorded_value(record["torch"]));
  set(out.config, "runtime.nvidia_resiliency_ext", recorded_value(record["nvrx"]));
}

void CaseReader::read_verl(const json& record, RecordedCase& out) {
  std::vector<Word> words;
  for (const json& word : record["overrides"]) {
    const Source& source = sources_->add("override", word.get<std::string>());
    words.push_back(literal_word({&source, 0, static_cast<std::uint32_t>(source.text().size())}));
  }
  HydraOptions options;
  options.version = schema_->version();
  options.config_name = record["base"];
  HydraRun run = read_hydra_arguments(words, options);
  for (const Diagnostic& d : run.diagnostics) {
    if (d.severity != Severity::error || d.verdict != Verdict::violation) {
      continue;
    }
    if (d.code == "HYD110") {
      out.built_errors.push_back(d.evidence[0].path + ":" + d.evidence[0].lines);
    } else {
      out.parse_errors.push_back(d.message);
    }
  }
  out.config = merge({std::move(run.facts)});
  if (record.contains("world_size")) {
    set(out.config, "world_size", recorded_value(record["world_size"]));
  }
  set(out.config, "device.compute_capability", recorded_value(record["device_capability"]));
  set(out.config, "device.cuda_available", true);
  // What the recorder's stand-ins were: data sets of 4,096 rows, model facts by path, no module
  // besides torch.optim, and of the paths a case may resume from only /tmp.
  set(out.config, "files.train_rows", std::int64_t{4096});
  set(out.config, "software.optimizer_modules", List{Value("torch.optim")});
  const auto text = [&](const char* key) {
    const Entry* entry = out.config.find(key);
    const std::string* path = entry ? entry->value().if_string() : nullptr;
    return path ? *path : std::string();
  };
  set(out.config, "files.resume_path_exists", text("trainer.resume_from_path").starts_with("/tmp"));
  for (const auto& [role, key] :
       {std::pair("actor", "actor_rollout_ref.model.path"),
        std::pair("critic", "critic.model.path"), std::pair("sft", "model.path")}) {
    const std::string path = text(key);
    const std::int64_t layers = path.find("DeepSeek-V3") != std::string::npos ? 1 : 0;
    set(out.config, fmt::format("hf.{}.num_nextn_predict_layers", role), layers);
    set(out.config, fmt::format("hf.{}.vision", role), path.find("VL") != std::string::npos);
  }
  // An accepted case ran no further than its stage.
  if (record["verdict"] == "accept") {
    out.last_stage = stage_number(record.value("stage", ""));
    if (out.last_stage < stage_number("engine-init")) {  // then no worker built its classes
      out.built_errors.clear();
      out.follows_rewrites = false;
    }
  }
}

unsigned CaseReader::stage_number(std::string_view name) const {
  for (const rules::Stages& stages : rules::builtin_rules().stages) {
    if (stages.framework == framework_) {
      const auto at = std::find(stages.names.begin(), stages.names.end(), name);
      return static_cast<unsigned>(at - stages.names.begin());
    }
  }
  return 0;
}

}  // namespace shardlint
