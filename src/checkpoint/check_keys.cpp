// What the keys say about each other: optimizer state and the parameters it is for, numbers of
// layers and experts. Silent where the naming is not understood.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/strings.h"
#include "checkpoint/check_parts.h"

namespace shardlint::checkpoint {
namespace {

// One tensor of optimizer state: which quantity, of which parameter.
struct State {
  std::string parameter, quantity;
};

bool is_quantity(std::string_view word) {
  return word == "exp_avg" || word == "exp_avg_sq" || word == "fp32_param" || word == "param" ||
         word == "master_param" || word == "step" || word == "momentum_buffer" ||
         word == "max_exp_avg_sq";
}

// Leading parts that frameworks put before a module's own name.
std::string_view bare(std::string_view key) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view part :
         {"module.", "model.", "model0.", "_fsdp_wrapped_module.", "_orig_mod."}) {
      if (key.starts_with(part)) {
        key.remove_prefix(part.size());
        again = true;
      }
    }
  }
  return key;
}

// optimizer.state.exp_avg.<key> (Megatron-Core), optim.state.<key>.exp_avg (torch, Megatron-FSDP).
std::optional<State> state_of(std::string_view key) {
  const std::size_t at = key.starts_with("state.") ? 0 : key.find(".state.");
  if (at == std::string_view::npos ||
      key.find("optimizer.distributed.") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = key.substr(at + (at == 0 ? 6 : 7));
  const std::size_t first = rest.find('.'), last = rest.rfind('.');
  if (first == std::string_view::npos) {
    return std::nullopt;
  }
  if (is_quantity(rest.substr(0, first))) {
    return State{std::string(bare(rest.substr(first + 1))), std::string(rest.substr(0, first))};
  }
  if (is_quantity(rest.substr(last + 1))) {
    return State{std::string(bare(rest.substr(0, last))), std::string(rest.substr(last + 1))};
  }
  return std::nullopt;
}

class KeyCheck {
 public:
  explicit KeyCheck(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), place_(checkpoint.directory) {
    if (checkpoint.format == Format::torch_dist || checkpoint.format == Format::torch_dcp ||
        checkpoint.format == Format::fsdp_dtensor) {
      place_ += "/.metadata";
    }
  }

  std::vector<Finding> run() {
    collect();
    if (checkpoint_.format != Format::safetensors && checkpoint_.format != Format::torch_file) {
      optimizer();
    }
    numbers("layers", Fault::layers_missing);
    numbers("experts", Fault::experts_missing);
    return std::move(findings_);
  }

 private:
  void add(Fault fault, std::string tensor, std::string message,
           std::optional<Severity> severity = {}) {
    findings_.push_back({fault, place_, {}, std::move(tensor), std::move(message), severity});
  }

  void collect() {
    for (const Tensor& tensor : checkpoint_.tensors) {
      if (const Part part = part_of(tensor.name); part == Part::model) {
        model_.emplace(bare(tensor.name), &tensor);
      } else if (part == Part::optimizer) {
        any_optimizer_ = true;
        if (std::optional<State> state = state_of(tensor.name)) {
          states_[state->parameter].emplace(state->quantity, &tensor);
        }
      }
    }
    for (const Item& item : checkpoint_.items) {
      any_optimizer_ |= part_of(item.name) == Part::optimizer;
    }
  }

  // The parameter of that name, also where the job put its model under a name of its own.
  const Tensor* parameter(const std::string& name) {
    if (const auto found = model_.find(name); found != model_.end()) {
      return found->second;
    }
    if (suffixes_.empty()) {
      for (const auto& [key, tensor] : model_) {
        int parts = 0;
        for (std::size_t dot = key.find('.'); dot != std::string::npos && parts < 4;
             dot = key.find('.', dot + 1), ++parts) {
          suffixes_.emplace(key.substr(dot + 1), tensor);
        }
      }
    }
    const auto found = suffixes_.find(name);
    return found == suffixes_.end() ? nullptr : found->second;
  }

  void optimizer() {
    if (!any_optimizer_) {
      return;
    }
    if (model_.empty()) {
      if (checkpoint_.role.empty() && !checkpoint_.tensors.empty()) {
        add(Fault::optimizer_without_model, "",
            "there is optimizer state, but no tensor of a model");
      }
      return;
    }
    std::set<const Tensor*> with_state;
    std::vector<std::string> unmatched;
    for (const auto& [name, quantities] : states_) {
      const Tensor* of = parameter(name);
      if (of == nullptr) {
        unmatched.push_back(name);
        continue;
      }
      with_state.insert(of);
      shapes(*of, quantities);
    }
    if (with_state.empty()) {
      return;  // a naming that we do not know
    }
    for (const std::string& name : unmatched) {
      add(Fault::optimizer_without_model, states_.at(name).begin()->second->name,
          "there is no parameter " + name);
    }
    moments();
    partial(with_state);
  }

  void shapes(const Tensor& of, const std::map<std::string, const Tensor*>& quantities) {
    for (const auto& [quantity, state] : quantities) {
      if (quantity == "step" || quantity == "momentum_buffer") {
        continue;
      }
      // Older Megatron flattens the state, so only the number of elements must agree.
      if (volume(of.shape) != volume(state->shape)) {
        add(Fault::optimizer_shape, state->name,
            "has shape " + text_of(state->shape) + ", its parameter " + text_of(of.shape));
      }
      if (quantity.starts_with("exp_avg") && state->dtype != DType::float32 &&
          state->dtype != DType::float64) {
        ++narrow_[state->dtype];
        narrow_example_[state->dtype] = state->name;
      }
    }
  }

  void moments() {
    const auto both = [](const auto& entry) {
      return entry.second.contains("exp_avg") && entry.second.contains("exp_avg_sq");
    };
    if (std::any_of(states_.begin(), states_.end(),
                    both)) {  // some optimizers keep one moment only
      for (const auto& [name, quantities] : states_) {
        if (quantities.contains("exp_avg") != quantities.contains("exp_avg_sq")) {
          const bool second = quantities.contains("exp_avg");
          add(Fault::moment_missing, name,
              second ? "has exp_avg but no exp_avg_sq" : "has exp_avg_sq but no exp_avg");
        }
      }
    }
    for (const auto& [dtype, count] : narrow_) {
      add(Fault::optimizer_dtype, narrow_example_[dtype],
          std::to_string(count) + " moments are stored as " + std::string(name_of(dtype)));
    }
  }

  void partial(const std::set<const Tensor*>& with_state) {
    std::vector<const Tensor*> without;
    std::size_t parameters = 0;
    for (const auto& [name, tensor] : model_) {
      const bool parameter =
          is_float(tensor->dtype) && (name.ends_with("weight") || name.ends_with("bias") ||
                                      name.ends_with("weight_w") || name.ends_with("weight_v"));
      parameters += parameter;
      if (parameter && !with_state.contains(tensor) && !tensor->name.ends_with("expert_bias")) {
        without.push_back(tensor);
      }
    }
    if (!without.empty()) {
      // Frozen parameters have none, and nothing in a checkpoint says which those are.
      const bool few = without.size() * 2 < parameters;
      add(Fault::optimizer_partial, without.front()->name,
          std::to_string(parameters - without.size()) + " of " + std::to_string(parameters) +
              " parameters have optimizer state; this one has none: frozen, or lost",
          few ? Severity::warning : Severity::info);
    }
  }

  // <prefix>layers.<N>.…: the numbers of one prefix run from 0 without a gap.
  void numbers(std::string_view word, Fault fault) {
    if (checkpoint_.format == Format::legacy) {
      return;  // numbers are local to a pipeline stage
    }
    std::map<std::string, std::set<long long>> seen;
    for (const auto& [name, tensor] : model_) {
      const std::vector<std::string_view> parts = split(name, '.');
      std::string prefix;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        prefix += std::string(parts[i]) + ".";
        const std::optional<long long> number =
            parts[i] == word || parts[i] == std::string("local_") + std::string(word)
                ? to_integer(parts[i + 1])
                : std::nullopt;
        if (number && *number >= 0) {
          seen[prefix].insert(*number);
          break;
        }
      }
    }
    for (const auto& [prefix, set] : seen) {
      const auto count = static_cast<long long>(set.size());
      if (*set.rbegin() + 1 != count) {
        long long absent = 0;
        while (set.contains(absent)) {
          ++absent;
        }
        add(fault, prefix + std::to_string(absent),
            "no tensor has this number, but " + prefix + std::to_string(*set.rbegin()) +
                " is there",
            Severity::warning);
      }
    }
  }

  const Checkpoint& checkpoint_;
  std::string place_;
  bool any_optimizer_ = false;
  std::map<std::string, const Tensor*> model_;  // by bare name
  std::unordered_map<std::string, const Tensor*> suffixes_;
  std::map<std::string, std::map<std::string, const Tensor*>> states_;  // by parameter and quantity
  std::map<DType, std::size_t> narrow_;
  std::map<DType, std::string> narrow_example_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_keys(const Checkpoint& checkpoint) {
  return KeyCheck(checkpoint).run();
}

}  // namespace shardlint::checkpoint
