#include "frontend/yaml/edit_flags.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace shardlint::yaml {
namespace {

// As the test's script turns it into words.
Value flag_value(const Value& value) {
  const List* list = value.if_list();
  if (!list) {
    return value;
  }
  std::string words;
  for (const Value& item : *list) {
    words += (words.empty() ? "" : " ") + item.text();
  }
  return "[" + words + "]";
}

class FlagChanges {
 public:
  FlagChanges(const Node& run, std::string section, const Schema& schema)
      : run_(run), section_(std::move(section)), schema_(schema) {}
  std::vector<KeyChange> out;

  bool add(const KeyChange& change) {
    if (change.key.starts_with("env.")) {
      const auto number = change.value.if_string() ? to_integer(*change.value.if_string())
                                                   : std::optional<long long>();
      out.push_back({"ENV_VARS." + change.key.substr(4),
                     number ? Value(static_cast<std::int64_t>(*number)) : change.value,
                     change.remove});
      return true;
    }
    const bool* wanted = change.value.if_bool();
    if (change.remove || change.value.is_null() || wanted) {
      return drop(change.key) && (!wanted || change.remove || turn(change.key, *wanted));
    }
    const Pair* written = nullptr;
    for (const Pair& pair : run_.entries()) {
      written = sets(pair, change.key) ? &pair : written;
    }
    const std::string flag(written ? written->key->scalar() : schema_.flag_of(change.key));
    return put(flag, flag_value(change.value));
  }

 private:
  bool sets(const Pair& pair, std::string_view dest) const {
    const Option* option = schema_.find_flag(pair.key->scalar());
    return option && option->dest == dest;
  }
  bool put(const std::string& flag, Value value) {
    if (flag.empty()) {
      return false;
    }
    out.push_back({section_ + "." + flag, std::move(value), false});
    return true;
  }
  // Every flag that sets the destination goes; what comes through a merge cannot.
  bool drop(std::string_view dest) {
    for (const Pair& pair : run_.entries()) {
      if (sets(pair, dest)) {
        out.push_back({section_ + "." + std::string(pair.key->scalar()), {}, true});
      }
    }
    return true;
  }
  // Without a flag the default holds.
  bool turn(std::string_view dest, bool wanted) {
    const Key* key = schema_.find(dest);
    const bool* usual = key && key->has_cli ? key->cli_default.if_bool() : nullptr;
    if (usual && *usual == wanted) {
      return true;
    }
    const std::string flag(schema_.flag_of(dest, !wanted));
    // A flag that is there already is set anew, not deleted and made again.
    std::erase_if(out, [&](const KeyChange& change) {
      return change.remove && change.key == section_ + "." + flag;
    });
    return put(flag, true);
  }

  const Node& run_;
  std::string section_;
  const Schema& schema_;
};

}  // namespace

EditPlan edit_flags(const Document& document, const Span& run, std::span<const KeyChange> changes,
                    const Schema& schema) {
  for (const Node* root : document.roots) {
    for (const Pair& pair : root->pairs) {
      if (pair.key->span != run || pair.value->kind != Node::Kind::mapping) {
        continue;
      }
      FlagChanges flags(*pair.value, std::string(pair.key->scalar()), schema);
      for (const KeyChange& change : changes) {
        if (!flags.add(change)) {
          return {{}, fmt::format("no flag sets {} so", change.key)};
        }
      }
      return edit_keys(document, *root, flags.out, Mode::core12);
    }
  }
  return {{}, "the argument list is no mapping of this file"};
}

}  // namespace shardlint::yaml
