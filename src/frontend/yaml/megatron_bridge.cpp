// Megatron-Bridge: files of overrides that are merged over a recipe (OmegaConf), and whole
// containers in which every object has its class as _target_ (PyYAML).

#include <algorithm>
#include <optional>

#include "frontend/yaml/dialects.h"

namespace shardlint::yaml {
namespace {

// The fields of the container.
constexpr std::string_view sections[] = {"checkpoint",
                                         "comm_overlap",
                                         "dataset",
                                         "ddp",
                                         "dist",
                                         "env_vars",
                                         "ft",
                                         "inprocess_restart",
                                         "logger",
                                         "mixed_precision",
                                         "model",
                                         "nvrx_straggler",
                                         "optimizer",
                                         "optimizer_config_override_provider",
                                         "peft",
                                         "profiling",
                                         "rerun_state_machine",
                                         "rng",
                                         "scheduler",
                                         "straggler",
                                         "tensor_inspect",
                                         "tokenizer",
                                         "train",
                                         "validation"};

// Pieces of keys that no other kind of configuration has in such a section.
constexpr std::string_view telling[] = {"_parallel_size",
                                        "megatron",
                                        "micro_batch_size",
                                        "global_batch_size",
                                        "train_iters",
                                        "ckpt_format",
                                        "torch_fsdp2",
                                        "lr_warmup_iters",
                                        "lr_decay_iters",
                                        "eval_iters",
                                        "seq_length",
                                        "_sharding_strategy",
                                        "grad_reduce",
                                        "overlap_param_gather",
                                        "use_distributed_optimizer",
                                        "average_in_collective",
                                        "recompute_granularity",
                                        "sequence_parallel",
                                        "packing_specs",
                                        "packed_sequence_specs",
                                        "tp_comm_overlap",
                                        "cpu_offloading",
                                        "use_tp_pp_dp_mapping",
                                        "pretrained_checkpoint",
                                        "fully_parallel_"};

bool is_section(std::string_view key) {
  return std::find(std::begin(sections), std::end(sections), key) != std::end(sections);
}

bool tells(std::string_view key) {
  return std::any_of(std::begin(telling), std::end(telling), [&](std::string_view piece) {
    return key.find(piece) != std::string_view::npos;
  });
}

bool is_container(const Node& root) {
  const Node* target = root.find("_target_");
  return target && target->scalar().ends_with("ConfigContainer") &&
         target->scalar().starts_with("megatron.bridge.");
}

// What the export of a checkpoint writes beside the weights: a model, and no training. It is read
// for its model and never run.
bool trains(const Node& container) {
  const Node* train = container.find("train");
  return !train || !train->is_null();
}

Certainty recognise(const Node& root, std::string_view) {
  if (is_container(root)) {
    return trains(root) ? Certainty::sure : Certainty::none;
  }
  std::size_t known = 0, told = 0;
  for (const Pair& pair : root.entries()) {
    if (!is_section(key_text(*pair.key))) {
      continue;
    }
    ++known;
    if (pair.value->is_mapping()) {
      for (const Pair& field : pair.value->entries()) {
        told += tells(key_text(*field.key));
      }
    }
  }
  return told > 0 && 2 * known >= root.entries().size() ? Certainty::shape : Certainty::none;
}

std::string last_name(std::string_view dotted) {
  return std::string(dotted.substr(dotted.rfind('.') + 1));
}

// A mapping that Bridge makes one value of: an enum member, a dtype, a function; objects that are
// built by a call cannot be known but are certainly there.
std::optional<Value> object_value(const Node& mapping) {
  const Node* target = mapping.find("_target_");
  if (!target) {
    return std::nullopt;
  }
  const Node* call = mapping.find("_call_");
  const Node* name = mapping.find("_name_");
  const std::string_view path = target->scalar();
  const Value called = call ? to_value(*call, Mode::pyyaml11) : Value(true);
  if (called.if_bool() && !*called.if_bool()) {
    return path.starts_with("torch.") && std::count(path.begin(), path.end(), '.') == 1
               ? Value(last_name(path))
               : Value(path);
  }
  if (name && mapping.find("_args_")) {
    return Value(name->scalar());
  }
  if (call || mapping.find("_partial_") || mapping.find("_args_")) {
    return Unknown{Reason::opaque, std::string(path), mapping.span, true, {}};
  }
  return std::nullopt;
}

// _target_ becomes the section's class, <section>._type.
bool special(const Pair& pair, const std::string& path, Facts& into) {
  if (key_text(*pair.key) == "_target_") {
    Fact fact;
    const std::size_t dot = path.rfind('.');
    fact.key = (dot == std::string::npos ? "" : path.substr(0, dot + 1)) + "_type";
    fact.value = last_name(pair.value->scalar());
    fact.key_span = pair.key->span;
    fact.value_span = pair.value->span;
    into.facts.push_back(std::move(fact));
    return true;
  }
  if (!pair.value->is_mapping()) {
    return false;
  }
  const auto value = object_value(*pair.value);
  if (value) {
    Fact fact;
    fact.key = path;
    fact.value = *value;
    fact.key_span = pair.key->span;
    fact.value_span = pair.value->span;
    into.facts.push_back(std::move(fact));
  }
  return value.has_value();
}

// Models of the builder kind hand attributes that are not theirs on to model.transformer.
void lift_transformer(Facts& facts) {
  constexpr std::string_view nested = "model.transformer.";
  std::vector<Fact> lifted;
  for (const Fact& fact : facts.facts) {
    const std::string_view name =
        std::string_view(fact.key).substr(std::min(nested.size(), fact.key.size()));
    if (!fact.key.starts_with(nested) || name == "_type") {
      continue;
    }
    Fact copy = fact;
    copy.key = "model." + std::string(name);
    const bool own = std::any_of(facts.facts.begin(), facts.facts.end(),
                                 [&](const Fact& other) { return other.key == copy.key; });
    if (!own) {
      copy.note = "a field of model.transformer";
      lifted.push_back(std::move(copy));
    }
  }
  facts.facts.insert(facts.facts.end(), lifted.begin(), lifted.end());
}

// Exported before anything else, where the environment does not have them already.
void export_variables(Facts& facts) {
  constexpr std::string_view section = "env_vars.";
  std::vector<Fact> exported;
  for (const Fact& fact : facts.facts) {
    if (fact.key.starts_with(section)) {
      Fact copy = fact;
      copy.key = "env." + fact.key.substr(section.size());
      if (const bool* flag = fact.value.if_bool()) {
        copy.value = *flag ? "True" : "False";
      } else if (fact.value.is_number()) {
        copy.value = fact.value.text();
      }
      copy.origin = Origin::environment;
      copy.note = "exported unless the environment has it";
      exported.push_back(std::move(copy));
    }
  }
  facts.facts.insert(facts.facts.end(), exported.begin(), exported.end());
}

void read(const Node& root, std::string_view, Reading& into) {
  Facts facts;
  facts.framework = "megatron-bridge";
  facts.closed = is_container(root);
  if (!root.entries().empty()) {
    facts.anchor = root.entries().front().key->span;
  }
  const Scope scope{&root, facts.closed ? Mode::pyyaml11 : Mode::omegaconf, true, facts.closed};
  flatten(scope, root, "", facts, special);
  lift_transformer(facts);
  export_variables(facts);
  into.configurations.push_back(std::move(facts));
}

Repeats repeats(const Node& root) {
  return is_container(root) ? Repeats::last_wins : Repeats::refused;
}

}  // namespace

const Dialect megatron_bridge_dialect{"megatron-bridge", recognise, read, repeats};

}  // namespace shardlint::yaml
