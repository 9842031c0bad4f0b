#include "verify/settings.h"

#include <algorithm>

#include "base/strings.h"

namespace shardlint::verify {
namespace {

// Why a setting that the trainer knows nothing of is left out: the first row that matches its key.
struct LeftOut {
  std::string_view pattern, why;
};
constexpr LeftOut left_out[] = {
    {"env.*", "no part of the training step reads it"},
    {"world_size", "the verifier takes as many ranks as this machine offers"},
    {"nnodes", "the verifier takes as many ranks as this machine offers"},
    {"nproc_per_node", "the verifier takes as many ranks as this machine offers"},
    {"trainer.n*", "the verifier takes as many ranks as this machine offers"},
    {"actor_rollout_ref.rollout.*", "generation is not part of the training step"},
    {"actor_rollout_ref.ref.*", "another role: --scope actor_rollout_ref.ref"},
    {"actor_rollout_ref.actor.*", "the trainer has no such part"},
    {"actor_rollout_ref.model.*", "the verifier trains a small decoder of its own"},
    {"critic.*", "another role: --scope critic"},
    {"reward*", "rewards are not part of the training step"},
    {"algorithm.*", "the verifier minimises a language model's loss"},
    {"data.*", "tokens are generated from a seed"},
    {"dataset.*", "tokens are generated from a seed"},
    {"tokenizer.*", "tokens are generated from a seed"},
    {"*data_path*", "tokens are generated from a seed"},
    {"*tokenizer*", "tokens are generated from a seed"},
    {"*vocab*", "size of the preset"},
    {"split", "tokens are generated from a seed"},
    {"mock_data", "tokens are generated from a seed"},
    {"logger.*", "does not touch the training step"},
    {"*log_*", "does not touch the training step"},
    {"*tensorboard*", "does not touch the training step"},
    {"*wandb*", "does not touch the training step"},
    {"profiling.*", "does not touch the training step"},
    {"scheduler.*", "the learning rate is constant"},
    {"*lr_*", "the learning rate is constant"},
    {"*recompute*", "activations are kept, nothing is recomputed"},
    {"*eval*", "there is no evaluation"},
    {"*moe_*", "the trainer's mixture of experts is a plain one"},
    {"model.*", "the verifier trains a small decoder of its own"},
    {"checkpoint.*", "the trainer saves and loads in its own small way"},
    {"*bucket*", "a bucket is one layer"},
    {"*communication_unit*", "a bucket is one layer"},
};

std::string_view reason_for(std::string_view key) {
  for (const LeftOut& row : left_out) {
    if (glob_match(row.pattern, key)) {
      return row.why;
    }
  }
  return "the trainer has no such part";
}

// What holds; where upstream's own steps leave that open, what was written.
const Value& taken(const Entry& entry) {
  const Step* written = entry.written();
  return entry.value().is_unknown() && written ? written->value : entry.value();
}

bool ends_with_name(std::string_view key, std::string_view name) {
  return key == name || (key.size() > name.size() && key.ends_with(name) &&
                         key[key.size() - name.size() - 1] == '.');
}

}  // namespace

std::string_view use_name(Use use) {
  switch (use) {
    case Use::exercised:
      return "exercised";
    case Use::scaled:
      return "scaled";
    case Use::not_exercised:
      return "not exercised";
  }
  return "";
}

Settings::Settings(const Config* config, std::string_view scope) : config_(config), scope_(scope) {
  if (!config) {
    return;
  }
  if (scope_.empty() && config->has_prefix("actor_rollout_ref.actor")) {
    scope_ = "actor_rollout_ref.actor";
  }
  for (const std::string_view key : config->keys()) {
    const bool launcher = key.find('.') == std::string::npos || key.starts_with("env.") ||
                          key.starts_with("trainer.");
    if (scope_.empty() || launcher || key.starts_with(scope_ + ".")) {
      keys_.emplace_back(key);
    }
  }
}

std::vector<std::string> Settings::keys_of(std::string_view name) const {
  std::vector<std::string> found;
  for (const std::string& key : keys_) {
    if (ends_with_name(key, name)) {
      found.push_back(key);
    }
  }
  return found;
}

const Value* Settings::known(std::initializer_list<std::string_view> names) const {
  // What a person wrote goes before a default that stands under another spelling.
  const Value* fallback = nullptr;
  for (const std::string_view name : names) {
    for (const std::string& key : keys_of(name)) {
      const Entry* entry = config_->find(key);
      const Value& value = taken(*entry);
      if (value.is_unknown() || value.is_null()) {
        continue;
      }
      if (entry->written()) {
        return &value;
      }
      fallback = fallback ? fallback : &value;
    }
  }
  return fallback;
}

bool Settings::is_true(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    for (const std::string& key : keys_of(name)) {
      const bool* value = taken(*config_->find(key)).if_bool();
      if (value && *value) {
        return true;
      }
    }
  }
  return false;
}

bool Settings::is_false(std::initializer_list<std::string_view> names) const {
  const Value* value = known(names);
  return value && value->if_bool() && !*value->if_bool();
}

std::optional<std::int64_t> Settings::integer(std::initializer_list<std::string_view> names) const {
  const Value* value = known(names);
  if (!value || !value->if_integer()) {
    return {};
  }
  return *value->if_integer();
}

std::optional<double> Settings::number(std::initializer_list<std::string_view> names) const {
  const Value* value = known(names);
  if (!value || !(value->if_integer() || value->if_double())) {
    return {};
  }
  return value->number();
}

std::string Settings::text(std::initializer_list<std::string_view> names) const {
  const Value* value = known(names);
  return value && value->if_string() ? *value->if_string() : "";
}

bool Settings::is_unknown(std::initializer_list<std::string_view> names) const {
  if (known(names)) {
    return false;
  }
  for (const std::string_view name : names) {
    for (const std::string& key : keys_of(name)) {
      if (taken(*config_->find(key)).is_unknown()) {
        return true;
      }
    }
  }
  return false;
}

void Settings::add(const std::string& key, Use use, std::string how, bool limits) {
  const Entry* entry = config_->find(key);
  const Step* written = entry->written();
  told_.insert(key);
  if (!written) {
    return;
  }
  Setting setting{key,    written->value.text(),      use, std::move(how),
                  limits, locate(config_->place(key))};
  if (!(written->value == entry->value()) && !written->value.is_unknown()) {
    setting.how += setting.how.empty() ? "" : " ";
    setting.how +=
        entry->value().is_unknown()
            ? "(as written; what is in force is not known: " + entry->value().text() + ")"
            : "(in force: " + entry->value().text() + ")";
  }
  settings_.push_back(std::move(setting));
}

void Settings::tell(std::initializer_list<std::string_view> names, Use use, std::string how,
                    bool limits) {
  for (const std::string_view name : names) {
    for (const std::string& key : keys_of(name)) {
      if (!told_.count(key)) {
        add(key, use, how, limits);
      }
    }
  }
}

std::vector<Setting> Settings::finish() {
  if (config_) {
    for (const std::string_view name : config_->keys()) {
      const std::string key(name);
      if (!told_.count(key)) {
        add(key, Use::not_exercised, std::string(reason_for(key)), false);
      }
    }
  }
  std::sort(settings_.begin(), settings_.end(), [](const Setting& a, const Setting& b) {
    return std::tie(a.use, a.key) < std::tie(b.use, b.key);
  });
  return std::move(settings_);
}

}  // namespace shardlint::verify
