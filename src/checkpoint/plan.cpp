#include "checkpoint/plan.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/arguments.h"
#include "checkpoint/fault.h"
#include "checkpoint/file.h"
#include "checkpoint/open.h"
#include "checkpoint/saved_shape.h"
#include "checkpoint/tree.h"
#include "diagnostics/sort.h"

namespace shardlint::checkpoint {
namespace {

// One setting: how each framework spells it, and upstream's default where an entry point that does
// not mention it has one.
struct Setting {
  std::string_view megatron, bridge;
  Value otherwise;
};
const Setting tp{"tensor_model_parallel_size", "model.tensor_model_parallel_size", 1};
const Setting pp{"pipeline_model_parallel_size", "model.pipeline_model_parallel_size", 1};
const Setting format{"ckpt_format", "checkpoint.ckpt_format", "torch_dist"};
const Setting detect{"auto_detect_ckpt_format", "", false};
const Setting megatron_fsdp{"use_megatron_fsdp", "dist.use_megatron_fsdp", false};
const Setting finetune{"finetune", "checkpoint.finetune", false};
const Setting skip_optimizer{"no_load_optim", "", false};
const Setting load_optimizer{"", "checkpoint.load_optim", true};
const Setting distributed_optimizer{"use_distributed_optimizer",
                                    "optimizer.use_distributed_optimizer",
                                    Value(unknown(Reason::absent, ""))};
const Setting strictness{"dist_ckpt_strictness", "checkpoint.dist_ckpt_strictness",
                         "assume_ok_unexpected"};
const Setting grouped_queries{"group_query_attention", "", false};
const Setting checkpoint_arguments{"use_checkpoint_args", "", false};
const Setting step{"ckpt_step", "checkpoint.ckpt_step", Value()};

// What a model is built from. An argument that a loader of Megatron-LM asserts is compared there
// even where no tensor would show it.
struct Dimension {
  std::string_view core, megatron;  // Megatron-Core's name, which is Bridge's, and the argument
  bool asserted = false;
};
constexpr Dimension dimensions[] = {
    {"num_layers", "num_layers", true},
    {"hidden_size", "hidden_size", true},
    {"num_attention_heads", "num_attention_heads", true},
    {"ffn_hidden_size", "ffn_hidden_size"},
    {"num_query_groups", "num_query_groups"},
    {"num_moe_experts", "num_experts"},
    {"moe_ffn_hidden_size", "moe_ffn_hidden_size"},
};

class PlanCheck {
 public:
  PlanCheck(const Config& config, const Tree& tree, const std::vector<ResumePoint::Part>& parts)
      : config_(config), tree_(tree), parts_(parts) {}

  std::vector<Diagnostic> run() {
    if (config_.framework == "verl") {
      verl();
    } else if (config_.framework == "megatron-lm" || config_.framework == "megatron-bridge") {
      iteration();
      for (const ResumePoint::Part& part : parts_) {
        if (part.checkpoint.role.empty()) {
          megatron(part);
        }
      }
    }
    sort_diagnostics(found_);
    return std::move(found_);
  }

 private:
  bool bridge() const { return config_.framework == "megatron-bridge"; }
  std::string_view key(const Setting& setting) const {
    return bridge() ? setting.bridge : setting.megatron;
  }

  // The value in force, or nothing when it is not known.
  std::optional<Value> value(const Setting& setting) const {
    return value(key(setting), setting.otherwise);
  }
  std::optional<Value> value(std::string_view key, const Value& otherwise) const {
    if (key.empty()) {
      return otherwise;
    }
    const Entry* entry = config_.find(key);
    const Value found = entry != nullptr ? entry->value()
                        : config_.closed ? otherwise
                                         : unknown(Reason::absent, "");
    return found.is_unknown() ? std::nullopt : std::optional(found);
  }
  bool is(const Setting& setting, const Value& wanted) const {
    const std::optional<Value> found = value(setting);
    return found && *found == wanted;
  }

  void add(Fault fault, std::string_view at, std::string message,
           std::optional<Severity> severity = {}) {
    Finding finding{fault, "", {}, "", std::move(message), severity};
    Diagnostic made = to_diagnostic(finding);
    made.where = locate(config_.place(at));
    made.framework = config_.framework;
    made.instance = config_.instance;
    made.key.path = at;
    if (const Entry* entry = config_.find(at)) {
      made.key.value = entry->value().text();
      made.key.origin = origin_name(entry->chain.back().origin);
    } else {
      made.key.origin = "default";
    }
    made.related.push_back({{tree_.directory, {}, {}}, "the checkpoint"});
    found_.push_back(std::move(made));
  }

  void iteration() {
    const std::optional<Value> wanted = value(step);
    const std::int64_t* number = wanted ? wanted->if_integer() : nullptr;
    if (number != nullptr && !tree_.root.empty() &&
        std::none_of(tree_.iterations.begin(), tree_.iterations.end(),
                     [&](const Iteration& i) { return i.number == *number; })) {
      add(Fault::plan_iteration, key(step),
          "iteration " + std::to_string(*number) + " is not among those saved" +
              (tree_.iterations.empty()
                   ? ""
                   : ", the newest is " + std::to_string(tree_.iterations.back().number)));
    }
  }

  void megatron(const ResumePoint::Part& whole) {
    const Checkpoint& part = whole.checkpoint;
    const std::optional<SavedArguments>& saved = whole.saved;
    run_config_ = &whole.run_config;
    formats(part);
    shapes(whole);
    parallel(part, saved);
    optimizer(part, saved);
    // The keys that a loader calls unexpected are those that the model wants and the checkpoint
    // lacks. All but three settings drop them from what is loaded.
    const std::optional<Value> strict = value(strictness);
    const std::string* word = strict ? strict->if_string() : nullptr;
    if (part.format == Format::torch_dist && word != nullptr &&
        (word->starts_with("log_") || word->starts_with("return_") || *word == "ignore_all")) {
      add(Fault::plan_strictness, key(strictness),
          "with " + *word + " tensors that the checkpoint lacks keep their random values");
    }
  }

  void formats(const Checkpoint& part) {
    const std::optional<Value> wanted = value(format);
    const std::string* word = wanted ? wanted->if_string() : nullptr;
    const bool fsdp = is(megatron_fsdp, true) ||
                      (bridge() && value("ddp.use_megatron_fsdp", false) == Value(true));
    if (bridge()) {
      // Bridge takes every plain DCP directory for fsdp_dtensor and compares.
      const std::string_view is =
          part.format == Format::torch_dist                                         ? "torch_dist"
          : part.format == Format::torch_dcp || part.format == Format::fsdp_dtensor ? "fsdp_dtensor"
          : part.format == Format::safetensors                                      ? "hf"
                                                                                    : "";
      if (word != nullptr && !is.empty() && *word != is) {
        add(Fault::plan_format, key(format),
            "the checkpoint is " + std::string(is) + ", checkpoint.ckpt_format is " + *word +
                ": the loader asserts that they agree");
      } else if (is.empty()) {
        add(Fault::plan_format, key(format),
            "the checkpoint has the format " + std::string(name_of(part.format)) +
                ", which Megatron-Bridge cannot load");
      }
      return;
    }
    if (part.format == Format::safetensors || part.format == Format::fsdp_ranks ||
        part.format == Format::zarr) {
      add(Fault::plan_format, key(format),
          "the checkpoint has the format " + std::string(name_of(part.format)) +
              ", which Megatron-LM cannot load");
    } else if (part.format == Format::torch_dist && word != nullptr && *word == "torch" &&
               is(detect, false)) {
      add(Fault::plan_format, key(format),
          "the checkpoint is torch_dist; with ckpt_format torch it is loaded only under "
          "--auto-detect-ckpt-format");
    } else if (part.format == Format::torch_dist && fsdp) {
      add(Fault::plan_format, key(megatron_fsdp),
          "the checkpoint is torch_dist, whose keys are not those of Megatron-FSDP; convert it to "
          "fsdp_dtensor first",
          Severity::warning);
    } else if (part.format == Format::fsdp_dtensor && is(megatron_fsdp, false)) {
      add(Fault::plan_format, key(megatron_fsdp),
          "the checkpoint has Megatron-FSDP's keys; without --use-megatron-fsdp it is taken for "
          "torch_dcp",
          Severity::warning);
    } else if (part.format == Format::torch_dcp && fsdp) {
      add(Fault::plan_format, key(megatron_fsdp),
          "the checkpoint is torch_dcp; under --use-megatron-fsdp it is taken for fsdp_dtensor",
          Severity::warning);
    }
  }

  // Megatron-LM asserts three of them when a run resumes; any other difference is met by the
  // loader as a tensor of another shape, or not at all.
  void shapes(const ResumePoint::Part& whole) {
    if (bridge() ? is(finetune, true) : !is(finetune, false)) {
      return;
    }
    for (const Dimension& dimension : dimensions) {
      const std::string at =
          bridge() ? "model." + std::string(dimension.core) : std::string(dimension.megatron);
      const std::optional<Value> mine = value(at, unknown(Reason::absent, ""));
      const std::int64_t* number = mine ? mine->if_integer() : nullptr;
      if (number == nullptr || !is_built_from(dimension, whole)) {
        continue;
      }
      const std::optional<SavedNumber> theirs =
          saved_shape(whole.checkpoint, whole.saved, whole.run_config, dimension.core);
      if (theirs && *number != theirs->number) {
        add(Fault::plan_shape, at,
            at + " is " + std::to_string(*number) + ", the checkpoint was saved with " +
                std::to_string(theirs->number) + " (" + theirs->said_by + ")");
      }
    }
  }

  // Some settings are written without having any effect on the model.
  bool is_built_from(const Dimension& dimension, const ResumePoint::Part& whole) const {
    const bool experts =
        saved_shape(whole.checkpoint, whole.saved, whole.run_config, "num_moe_experts").has_value();
    if (dimension.core == "ffn_hidden_size" && experts) {
      return false;  // every layer may be one of experts
    }
    if (dimension.core == "moe_ffn_hidden_size" && !experts) {
      return false;
    }
    if (bridge() || dimension.asserted) {
      return true;
    }
    if (dimension.core == "num_query_groups" && !is(grouped_queries, true)) {
      return false;
    }
    return is(checkpoint_arguments, false);  // else the checkpoint's own are taken
  }

  bool wants_optimizer() const {
    return is(finetune, false) &&
           (bridge() ? is(load_optimizer, true) : is(skip_optimizer, false)) && !tree_.release;
  }

  static bool saved_optimizer(const std::optional<SavedArguments>& saved,
                              const RunConfig& run_config) {
    if (const auto found = run_config.find("checkpoint.save_optim"); found != run_config.end()) {
      return found->second != "false";
    }
    const auto found =
        saved ? saved->arguments.find("no_save_optim") : decltype(saved->arguments.end()){};
    return !saved || found == saved->arguments.end() || found->second != Value(true);
  }

  std::int64_t saved_size(const std::optional<SavedArguments>& saved, std::string_view name) const {
    const std::optional<SavedNumber> found = saved_number(saved, *run_config_, name);
    return found ? found->number : 1;
  }

  void parallel(const Checkpoint& part, const std::optional<SavedArguments>& saved) {
    const std::optional<Value> my_tp = value(tp), my_pp = value(pp);
    if (!my_tp || !my_pp || !my_tp->if_integer() || !my_pp->if_integer() ||
        (!saved && run_config_->empty())) {
      return;
    }
    const std::int64_t saved_tp = saved_size(saved, "tensor_model_parallel_size"),
                       saved_pp = saved_size(saved, "pipeline_model_parallel_size");
    const bool same = *my_tp->if_integer() == saved_tp && *my_pp->if_integer() == saved_pp;
    if (same) {
      return;
    }
    const std::string_view at = *my_tp->if_integer() != saved_tp ? key(tp) : key(pp);
    const std::string sizes =
        "tensor and pipeline sizes are " + std::to_string(*my_tp->if_integer()) + " and " +
        std::to_string(*my_pp->if_integer()) + ", the checkpoint was saved with " +
        std::to_string(saved_tp) + " and " + std::to_string(saved_pp);
    if (part.format == Format::legacy) {
      add(Fault::plan_parallel, at, sizes + ", and the format torch keeps one file a rank");
      return;
    }
    if (part.format != Format::torch_dist || !saved || !wants_optimizer() ||
        !saved_optimizer(saved, *run_config_) || !is(distributed_optimizer, true)) {
      return;
    }
    std::string type = saved->sharding_type;
    if (type.empty()) {
      return;  // saves before content metadata: decided by another argument
    }
    if (type != "fully_reshardable" && type != "fully_sharded_model_space" &&
        type != "fsdp_dtensor") {
      add(Fault::plan_parallel, at,
          sizes + ", and the optimizer state was saved as " + type + ", which cannot be resharded");
    }
  }

  void optimizer(const Checkpoint& part, const std::optional<SavedArguments>& saved) {
    if (!wants_optimizer() || !part.has_metadata || has_optimizer(part) ||
        part.format == Format::safetensors) {
      return;
    }
    const std::string_view at = bridge() ? key(load_optimizer) : key(skip_optimizer);
    if (!saved_optimizer(saved, *run_config_)) {
      add(Fault::plan_optimizer, at,
          "the checkpoint was saved without optimizer state, so the run starts it anew, silently",
          Severity::warning);
    } else if (part.format == Format::torch_dist || part.format == Format::legacy) {
      add(Fault::plan_optimizer, at,
          "the checkpoint has no optimizer state, and the loader expects it");
    } else {
      add(Fault::plan_optimizer, at,
          "the checkpoint has no optimizer state; a partial load leaves the optimizer as it was "
          "initialised",
          Severity::warning);
    }
  }

  void verl() {
    const std::string_view strategy_key = "actor_rollout_ref.actor.strategy";
    const std::optional<Value> strategy = value(strategy_key, unknown(Reason::absent, ""));
    const std::string* word = strategy ? strategy->if_string() : nullptr;
    for (const ResumePoint::Part& whole : parts_) {
      const Checkpoint& part = whole.checkpoint;
      if (!part.role.empty() && !part.role.starts_with("actor") && part.role != "model") {
        continue;
      }
      if (word != nullptr && part.format == Format::fsdp_ranks && *word == "megatron") {
        add(Fault::plan_format, strategy_key,
            "the checkpoint holds FSDP's files of each rank, the strategy is megatron");
      } else if (word != nullptr && part.format == Format::torch_dist &&
                 word->starts_with("fsdp")) {
        add(Fault::plan_format, strategy_key,
            "the checkpoint is Megatron's, the strategy is " + *word);
      }
      const std::optional<Value> nodes = value("trainer.nnodes", unknown(Reason::absent, "")),
                                 gpus =
                                     value("trainer.n_gpus_per_node", unknown(Reason::absent, ""));
      const auto world = part.facts.find("world size");
      if (part.format == Format::fsdp_ranks && nodes && gpus && nodes->if_integer() &&
          gpus->if_integer() && world != part.facts.end()) {
        const std::int64_t mine = *nodes->if_integer() * *gpus->if_integer();
        if (std::to_string(mine) != world->second) {
          add(Fault::plan_parallel, "trainer.n_gpus_per_node",
              "the job has " + std::to_string(mine) +
                  " ranks, the checkpoint has one file for each of " + world->second);
        }
      }
    }
  }

  const Config& config_;
  const Tree& tree_;
  const std::vector<ResumePoint::Part>& parts_;
  const RunConfig* run_config_ = nullptr;
  std::vector<Diagnostic> found_;
};

}  // namespace

ResumePoint::ResumePoint(const std::string& path) : tree_(resolve(path)) {
  for (const TreePart& part : tree_.parts) {
    Part opened{open_checkpoint(part.directory), {}, read_run_config(part.directory)};
    opened.checkpoint.role = part.role;
    opened.saved = saved_arguments(opened.checkpoint);
    parts_.push_back(std::move(opened));
  }
}

std::vector<Diagnostic> ResumePoint::check(const Config& config) const {
  return PlanCheck(config, tree_, parts_).run();
}

}  // namespace shardlint::checkpoint
