#include "frontend/overrides/bridge_sync.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace shardlint {
namespace {

const Fact* last(const Facts& facts, std::string_view key) {
  for (auto fact = facts.facts.rbegin(); fact != facts.facts.rend(); ++fact) {
    if (fact->key == key) {
      return &*fact;
    }
  }
  return nullptr;
}

const Value* value(const Facts& facts, std::string_view key) {
  const Fact* fact = last(facts, key);
  return fact ? &fact->value : nullptr;
}

void add(Facts& facts, std::string key, Value to, const Fact& cause, std::string_view why) {
  Fact fact;
  fact.key = std::move(key);
  fact.value = std::move(to);
  fact.key_span = cause.key_span;
  fact.value_span = cause.value_span;
  fact.origin = Origin::computed;
  fact.note = why;
  facts.facts.push_back(std::move(fact));
}

// The model is as long as the dataset says, whatever the model was given.
void sequence_length(Facts& facts) {
  const Fact* length = last(facts, "dataset.seq_length");
  const Fact* model = last(facts, "model.seq_length");
  if (length && !length->value.is_null() && !(model && model->value == length->value)) {
    const Fact cause = *length;
    add(facts, "model.seq_length", cause.value, cause, "run_recipe.py takes the dataset's");
  }
}

// Fine-tuning with context parallelism averages over tokens.
void per_token_loss(Facts& facts) {
  const Fact* cp = last(facts, "model.context_parallel_size");
  const bool packs = last(facts, "dataset.enable_offline_packing") ||
                     last(facts, "dataset.enable_in_batch_packing");
  if (!cp || !packs || (!cp->value.is_unknown() && cp->value.number() <= 1)) {
    return;
  }
  const Fact cause = *cp;
  const bool sure = !cause.value.is_unknown();
  for (const auto& [key, to] :
       {std::pair<const char*, bool>{"model.calculate_per_token_loss", true},
        {"ddp.average_in_collective", false}}) {
    if (last(facts, key)) {
      add(facts, key, sure ? Value(to) : cause.value, cause,
          "set by run_recipe.py for context parallelism");
    }
  }
}

// Packed samples are padded to what the parallel sizes need.
void packing(Facts& facts) {
  const Value* on = value(facts, "dataset.enable_offline_packing");
  const Fact* length = last(facts, "dataset.seq_length");
  if (!on || *on == Value(false) || !length) {
    return;
  }
  const Fact cause = *length;
  if (!cause.value.is_null()) {
    add(facts, "dataset.offline_packing_specs.packed_sequence_size", cause.value, cause,
        "run_recipe.py takes the dataset's length");
  }
  std::int64_t multiple = 1;
  const auto number = [&](std::string_view key, std::int64_t otherwise, bool& known) {
    const Value* found = value(facts, key);
    if (!found || found->is_null()) {
      return otherwise;
    }
    const std::int64_t* n = found->if_integer();
    known = known && n && *n > 0 && *n < (1 << 20);
    return n && *n > 0 && *n < (1 << 20) ? *n : otherwise;
  };
  bool known = true;
  const std::int64_t cp = number("model.context_parallel_size", 1, known);
  const std::int64_t tp = number("model.tensor_model_parallel_size", 1, known);
  const std::int64_t given = number("dataset.offline_packing_specs.pad_seq_to_mult", 1, known);
  const Value* sequence = value(facts, "model.sequence_parallel");
  known = known && !(sequence && sequence->is_unknown());
  multiple = std::lcm(given, cp > 1 ? 2 * cp : 1);
  if (sequence && *sequence == Value(true) && tp > 1) {
    multiple = std::lcm(multiple, cp * tp);
  }
  const Fact* before = last(facts, "dataset.offline_packing_specs.pad_seq_to_mult");
  add(facts, "dataset.offline_packing_specs.pad_seq_to_mult",
      known ? Value(multiple)
            : unknown(Reason::dynamic, "the padding that run_recipe.py works out"),
      before ? Fact(*before) : cause, "raised by run_recipe.py to fit the parallel sizes");
}

// A change of the pipeline's size makes run_recipe.py build the recipe's layout anew.
void pipeline_layout(Facts& facts) {
  const auto overridden = [&](std::string_view key) -> const Fact* {
    const Fact* fact = last(facts, key);
    return fact && fact->origin == Origin::override_value ? fact : nullptr;
  };
  const Fact* size = overridden("model.pipeline_model_parallel_size");
  size = size ? size : overridden("model.virtual_pipeline_model_parallel_size");
  if (!size || overridden("model.pipeline_model_parallel_layout")) {
    return;
  }
  const Fact cause = *size;
  for (const char* key :
       {"model.pipeline_model_parallel_layout", "model.num_layers_in_first_pipeline_stage",
        "model.num_layers_in_last_pipeline_stage"}) {
    const Value* now = value(facts, key);
    if (now && !now->is_null() && !overridden(key)) {
      add(facts, key, unknown(Reason::dynamic, "the layout that run_recipe.py builds"), cause,
          "built anew by run_recipe.py");
    }
  }
}

}  // namespace

void drop_dataset(Facts& recipe, std::string_view choice) {
  for (Fact& fact : recipe.facts) {
    if (fact.key.starts_with("dataset.") || fact.key == "dataset") {
      fact.value = unknown(Reason::dynamic, fmt::format("the dataset of --dataset {}", choice));
    }
  }
}

void add_recipe_syncs(Facts& facts, bool finetunes) {
  pipeline_layout(facts);
  if (finetunes) {
    per_token_loss(facts);
  }
  packing(facts);
  sequence_length(facts);
}

bool names_finetuning(std::string_view name) {
  return name.find("sft") != std::string_view::npos ||
         name.find("peft") != std::string_view::npos ||
         name.find("lora") != std::string_view::npos || name.find("dora") != std::string_view::npos;
}

namespace {

// A key that a launcher gives where every one of `unless` is empty too (null, or 0 for a size).
struct Given {
  std::string_view key;
  std::initializer_list<std::string_view> unless;
};

// scripts/training/run_recipe.py has options of their own for most of these, and its manual gives
// the rest as overrides.
const Given given[] = {
    {"checkpoint.pretrained_checkpoint", {}},
    {"dataset.path", {}},
    {"dataset.path_to_cache", {}},
    {"dataset.hf_processor_path", {}},
    {"dataset.dataset_root", {"dataset.hf_dataset"}},
    {"train.train_iters", {"train.train_samples", "train.num_epochs"}},
    {"train.global_batch_size", {}},
    {"train.micro_batch_size", {}},
    {"model.num_layers", {}},
    {"model.hidden_size", {}},
    {"model.num_attention_heads", {}},
};

bool is_empty(const Value* value) {
  return !value || value->is_null() || *value == Value(0) || *value == Value("");
}

void open_up(Facts& facts, std::string_view key, Unknown unknown) {
  Fact fact;
  fact.key = key;
  fact.value = std::move(unknown);
  fact.origin = Origin::default_value;  // nobody wrote it
  fact.note = "left to the launch";
  facts.facts.push_back(std::move(fact));
}

}  // namespace

void leave_to_launch(Facts& recipe) {
  for (const Given& each : given) {
    const Value* now = value(recipe, each.key);
    const bool left =
        now && is_empty(now) &&
        std::all_of(each.unless.begin(), each.unless.end(),
                    [&](std::string_view other) { return is_empty(value(recipe, other)); });
    if (left) {
      open_up(recipe, each.key, {Reason::argument, "the launch gives it", {}, false, {}});
    }
  }
  const std::size_t own = recipe.facts.size();
  add_recipe_syncs(recipe, names_finetuning(recipe.instance));
  std::vector<Fact> synced(std::make_move_iterator(recipe.facts.begin() + own),
                           std::make_move_iterator(recipe.facts.end()));
  recipe.facts.resize(own);
  for (const Fact& fact : synced) {
    const Value* now = value(recipe, fact.key);
    if (now && !(*now == fact.value)) {
      Unknown either{Reason::argument, "run_recipe.py sets it", {}, !now->is_null(), {}};
      if (!now->is_unknown() && !fact.value.is_unknown()) {
        either.domain = {*now, fact.value};
      } else {
        either.not_null = false;
      }
      open_up(recipe, fact.key, std::move(either));
    }
  }
}

}  // namespace shardlint
