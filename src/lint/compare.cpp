#include "lint/compare.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schema/schema.h"

namespace shardlint {
namespace {

// A type by one name: fp32, float32 and torch.float32 are one, whatever framework says it.
Value plain_type(const Value& value) {
  const std::string* text = value.if_string();
  if (!text) {
    return value;
  }
  const std::string name = text->starts_with("torch.") ? text->substr(6) : *text;
  return name == "fp32"   ? Value("float32")
         : name == "bf16" ? Value("bfloat16")
         : name == "fp16" ? Value("float16")
                          : Value(name);
}

// Two unknowns that hang on the same thing are the same as far as can be told.
bool alike(const EffectiveKey& a, const EffectiveKey& b) {
  if (!a.unknown || !b.unknown) {
    return !a.unknown && !b.unknown && plain_type(a.value()) == plain_type(b.value());
  }
  return a.unknown->reason == b.unknown->reason && a.unknown->detail == b.unknown->detail &&
         a.value().if_unknown()->domain == b.value().if_unknown()->domain;
}

bool is_default(const EffectiveKey& key) {
  return key.written() == nullptr;
}

// The key of the other side that is the same setting.
class Partners {
 public:
  Partners(const Effective& a, const Effective& b)
      : b_(b),
        same_framework_(a.framework == b.framework),
        schema_(Schema::get(b.framework, b.version)),
        before_(Schema::get(a.framework, a.version)) {
    for (const EffectiveKey& key : b.keys) {
      if (same_framework_ && !a.find(key.key)) {  // renamed between b, the older release, and a
        if (const auto life = before_->history(key.key); life && life->old_name) {
          by_name_.emplace(life->replacement, &key);
        }
      } else if (!same_framework_ && !key.canonical.empty()) {
        by_name_.emplace(key.canonical, &key);
      }
    }
  }

  const EffectiveKey* of(const EffectiveKey& key) const {
    if (const EffectiveKey* same = b_.find(key.key)) {
      return same;
    }
    const auto at = by_name_.find(same_framework_ ? key.key : key.canonical);
    if (at != by_name_.end()) {
      return at->second;
    }
    if (!same_framework_) {
      return nullptr;
    }
    if (const auto life = schema_->history(key.key); life && life->old_name) {
      return b_.find(life->replacement);
    }
    // One flag, stored under another name.
    const std::string_view flag = before_->flag_of(key.key);
    const Option* option = flag.empty() ? nullptr : schema_->find_flag(flag);
    return option ? b_.find(option->dest) : nullptr;
  }

 private:
  const Effective& b_;
  bool same_framework_;
  const Schema *schema_, *before_;
  std::map<std::string, const EffectiveKey*, std::less<>> by_name_;
};

}  // namespace

Comparison compare(const Effective& a, const Effective& b) {
  Comparison out;
  const Partners partners(a, b);
  std::set<const EffectiveKey*> taken;
  const auto add = [&](Difference::Kind kind, const EffectiveKey* left, const EffectiveKey* right) {
    const std::string& key = left ? left->key : right->key;
    out.differences.push_back({kind, key, left, right, effect_of(key)});
  };
  for (const EffectiveKey& key : a.keys) {
    const EffectiveKey* other = partners.of(key);
    if (!other) {
      if (is_default(key)) {
        out.defaults_of_a.push_back(key.key);
      } else {
        add(Difference::Kind::only_a, &key, nullptr);
      }
      continue;
    }
    taken.insert(other);
    if (alike(key, *other)) {
      ++out.same;
    } else {
      add(key.unknown || other->unknown ? Difference::Kind::undecided : Difference::Kind::differs,
          &key, other);
    }
  }
  for (const EffectiveKey& key : b.keys) {
    if (taken.count(&key)) {
      continue;
    }
    if (is_default(key)) {
      out.defaults_of_b.push_back(key.key);
    } else {
      add(Difference::Kind::only_b, nullptr, &key);
    }
  }
  std::sort(out.differences.begin(), out.differences.end(),
            [](const Difference& x, const Difference& y) { return x.key < y.key; });
  return out;
}

}  // namespace shardlint
