#include "rules/state.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rules/expr_builtins.h"

namespace shardlint::rules {
namespace {

constexpr int let_depth_limit = 16;

// What a recipe always brings along: an override file of Megatron-Bridge never runs on the class's
// placeholder values.
bool comes_with_the_model(std::string_view key) {
  constexpr std::array names = {"model.num_layers",          "model.hidden_size",
                                "model.num_attention_heads", "model.num_query_groups",
                                "model.ffn_hidden_size",     "model.kv_channels",
                                "model.num_moe_experts",     "model.vocab_size",
                                "model.moe_ffn_hidden_size", "model.bf16",
                                "model.params_dtype",        "optimizer.bf16"};
  return std::find(names.begin(), names.end(), key) != names.end();
}

// What an absent key may be. Upstream writes `x: int = None` too: a default of null says more than
// the type.
Unknown of_type(const KeyType& type, const Value& fallback) {
  const bool optional = type.optional || fallback.is_null();
  Unknown out{Reason::absent, "", {}, !optional, {}};
  // Only booleans: upstream takes values that a list of choices does not name (None, enum members).
  if (type.kind == Kind::boolean) {
    out.domain = {false, true};
  }
  if (!out.domain.empty() && optional) {
    out.domain.push_back(Value());
  }
  return out;
}

// Into the maps along a dotted path.
void put(Map& map, std::string_view path, const Value& value) {
  const auto dot = path.find('.');
  const std::string head(path.substr(0, dot));
  auto at = std::find_if(map.begin(), map.end(), [&](const auto& e) { return e.first == head; });
  if (at == map.end()) {
    map.emplace_back(head, dot == std::string_view::npos ? value : Value(Map{}));
    at = std::prev(map.end());
  }
  if (dot == std::string_view::npos) {
    at->second = value;
    return;
  }
  Map inner = at->second.if_map() ? *at->second.if_map() : Map{};
  put(inner, path.substr(dot + 1), value);
  at->second = Value(std::move(inner));
}

}  // namespace

bool is_machine_fact(std::string_view key) {
  constexpr std::array prefixes = {"env.",   "ray_env.", "device.", "software.", "runtime.",
                                   "saved.", "cli.",     "files.",  "hf."};
  constexpr std::array names = {"world_size",        "nnodes",     "nproc_per_node",
                                "torch_version",     "te_version", "device_capability",
                                "compute_capability"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* p) { return key.starts_with(p); }) ||
         std::find(names.begin(), names.end(), key) != names.end();
}

void State::begin(const std::vector<Let>* lets) {
  lets_ = lets;
  reads_.clear();
}

const Let* State::let(std::string_view name) const {
  if (lets_) {
    for (const Let& let : *lets_) {
      if (let.name == name) {
        return &let;
      }
    }
  }
  return nullptr;
}

Value State::local(std::string_view name) {
  const Let* found = let(name);
  if (!found || ++depth_ > let_depth_limit) {
    return bad_type(fmt::format("`{}` has no value", name));
  }
  const Value value = evaluate(found->value, *this);
  --depth_;
  return value;
}

Value State::key(std::string_view name) {
  const auto spellings = schema_.spellings(name);
  if (spellings.empty()) {
    return plain(name);
  }
  // Several spellings of one switch: on when any of them is.
  Value result = plain(spellings.front());
  for (const std::string_view spelling : spellings.subspan(1)) {
    if (!result.is_unknown() && truthy(result)) {
      return result;
    }
    const Value next = plain(spelling);
    if (!next.is_unknown() && truthy(next)) {
      return next;
    }
    result = result.is_unknown() ? result : next;
  }
  return result;
}

Value State::field(std::string_view section, std::string_view name) {
  return key(*made_keys_.insert(fmt::format("{}.{}", section, name)).first);
}

Value State::plain(std::string_view name) {
  reads_.push_back(name);
  if (const auto it = trial.find(name); it != trial.end()) {
    return it->second;
  }
  if (const Entry* entry = config_.find(name)) {
    return entry->value();
  }
  if (config_.has_prefix(name)) {  // a section, or a mapping given key by key
    return section(name);
  }
  return absent(name);
}

// A section is there, whatever it holds; a free mapping (env_vars) is its entries.
Value State::section(std::string_view name) {
  Map out;
  if (const Entry* type = config_.find(std::string(name) + "._type")) {
    out.emplace_back("_type", type->value());
    return out;
  }
  const std::string prefix = std::string(name) + ".";
  if (sorted_keys_.empty()) {
    sorted_keys_ = config_.keys();
  }
  for (auto key = std::lower_bound(sorted_keys_.begin(), sorted_keys_.end(), prefix);
       key != sorted_keys_.end() && key->starts_with(prefix); ++key) {
    put(out, key->substr(prefix.size()), config_.find(*key)->value());
  }
  return out;
}

void State::set(std::string_view key, Step step) {
  if (!config_.find(key)) {
    sorted_keys_.clear();
  }
  config_.set(key, std::move(step));
}

Value State::absent(std::string_view name) {
  if (name == "hydra.config_name") {  // the tree that the program composes
    return config_.base.empty() ? Value() : Value(config_.base);
  }
  if (is_machine_fact(name)) {
    return unknown(name.starts_with("env.") ? Reason::environment : Reason::machine,
                   std::string(name));
  }
  const Key* key = schema_.find(name);
  if (schema_.framework() == "megatron-bridge" && (config_.partial || world_ != World::closed) &&
      comes_with_the_model(name)) {
    return unknown(Reason::opaque, std::string(name));
  }
  if (world_ == World::open) {
    Unknown out = key ? of_type(key->type, schema_.default_of(*key))
                      : Unknown{Reason::absent, "", {}, false, {}};
    out.detail = std::string(name);
    return out;
  }
  // An attribute of a section that is not there reads as null.
  for (auto dot = name.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    const std::string_view section = name.substr(0, dot);
    const Entry* entry = config_.find(section);
    if (entry && entry->value().is_null()) {
      return {};
    }
    if (world_ == World::closed && !entry && !config_.has_prefix(section)) {
      const Key* parent = schema_.find(section);
      if (parent && parent->type.optional) {
        return {};
      }
    }
  }
  if (is_composed_tree()) {
    return absent_in_tree(name);
  }
  if (!key) {
    return {};
  }
  return schema_.default_of(*key);
}

// verl's classes name themselves in what Hydra composed, and only there.
bool State::is_composed_tree() const {
  return schema_.framework() == "verl" &&
         (config_.find("actor_rollout_ref.actor._target_") || config_.find("engine._target_"));
}

// A composed tree is whole: what is not in it has the default of its section's class, or is not
// there.
Value State::absent_in_tree(std::string_view name) const {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) {
    return {};
  }
  const Entry* target = config_.find(std::string(name.substr(0, dot)) + "._target_");
  const std::string* text = target ? target->value().if_string() : nullptr;
  const ClassInfo* info = text ? schema_.find_class(*text) : nullptr;
  const Key* field = info ? schema_.field(*info, name.substr(dot + 1)) : nullptr;
  return field ? field->default_value(Route::cls) : Value();
}

Value State::is_instance(std::string_view key, std::string_view class_name) {
  const Value type = plain(*made_keys_.insert(std::string(key) + "._type").first);
  if (type.is_unknown()) {
    return type;
  }
  const std::string* text = type.if_string();
  if (!text) {
    return config_.has_prefix(key) && !schema_.section_classes(key).empty()
               ? likely_instance(key, class_name)
           : world_ == World::closed ? Value(false)
                                     : unknown(Reason::absent, std::string(key) + "._type");
  }
  // "core." marks Megatron-Core's class where Megatron-Bridge has one of the same name.
  const std::string_view plain_name =
      text->starts_with("core.") ? std::string_view(*text).substr(5) : std::string_view(*text);
  return plain_name == class_name || schema_.is_a(plain_name, class_name);
}

Value State::likely_instance(std::string_view section, std::string_view class_name) const {
  std::vector<std::string> fields;
  for (const std::string_view key : config_.keys()) {
    if (key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.' &&
        is_written(key)) {
      const std::string_view rest = key.substr(section.size() + 1);
      fields.emplace_back(rest.substr(0, rest.find('.')));
    }
  }
  bool some = false, all = true;
  for (const std::string_view name : schema_.section_classes(section)) {
    const ClassInfo* info = schema_.find_class(name);
    const bool fits = info && std::all_of(fields.begin(), fields.end(), [&](const auto& field) {
                        return schema_.field(*info, field) != nullptr;
                      });
    if (fits) {
      const bool is = info->name == class_name || schema_.is_a(info->name, class_name);
      some = some || is;
      all = all && is;
    }
  }
  return some == all ? Value(some) : unknown(Reason::absent, std::string(section) + "._type");
}

bool State::is_written(std::string_view key) const {
  const Entry* entry = config_.find(key);
  return entry && entry->written();
}

Value State::written(std::string_view key) {
  const auto spellings = schema_.spellings(key);
  return spellings.empty() ? is_written(key)
                           : std::any_of(spellings.begin(), spellings.end(),
                                         [&](std::string_view s) { return is_written(s); });
}

std::string_view State::target(std::string_view name) const {
  if (const Let* found = let(name); found && found->value.root().op == Op::key) {
    name = found->value.text(found->value.root());
  }
  const auto spellings = schema_.spellings(name);
  if (spellings.empty()) {
    return name;
  }
  std::string_view best;
  for (const std::string_view spelling : spellings) {
    if (is_written(spelling)) {
      const Value& value = config_.find(spelling)->value();
      if (!value.is_unknown() && truthy(value)) {
        return spelling;
      }
      best = best.empty() ? spelling : best;
    }
  }
  return best.empty() ? spellings.front() : best;
}

}  // namespace shardlint::rules
