#include "schema/schema.h"

#include <algorithm>
#include <unordered_map>

#include "base/edit_distance.h"
#include "schema/tables.h"

namespace shardlint {

const Schema* decoded_schema(const SchemaBlob& blob, std::size_t index);  // decode.cpp

namespace {

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

const SchemaBlob* blob_of(std::string_view framework) {
  for (const SchemaBlob& blob : schema_blobs()) {
    if (blob.framework == framework)
      return &blob;
  }
  return nullptr;
}

const SchemaVersions& versions_of(const SchemaBlob& blob) {
  static const std::vector<SchemaVersions> all = [] {
    std::vector<SchemaVersions> out;
    for (const SchemaBlob& b : schema_blobs())
      out.push_back(schema_versions(b));
    return out;
  }();
  return all[static_cast<std::size_t>(&blob - schema_blobs().data())];
}

// A commit is told from a version by its being seven or more hexadecimal digits.
std::optional<std::size_t> by_commit(const SchemaVersions& versions, std::string_view text) {
  if (text.size() < 7)
    return std::nullopt;
  for (std::size_t i = 0; i < versions.commits.size(); ++i) {
    if (versions.commits[i].starts_with(text.substr(0, 40)))
      return i;
  }
  return std::nullopt;
}

template <typename Pairs, typename Name>
auto find_pair(const Pairs& pairs, const Name& name) {
  const auto at = std::lower_bound(pairs.begin(), pairs.end(), name,
                                   [](const auto& a, const Name& b) { return a.first < b; });
  return at != pairs.end() && at->first == name ? &*at : nullptr;
}

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::any:
      return "anything";
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a number";
    case Kind::text:
      return "text";
    case Kind::path:
      return "a path";
    case Kind::choice:
      return "one of a few names";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a mapping";
    case Kind::object:
      return "a section";
  }
  return "anything";
}

Value Key::default_value(Route route) const {
  const bool cli = route == Route::cli && (has_cli || computed_cli);
  if (cli && has_cli)
    return cli_default;
  if (!cli && has_cls)
    return cls_default;
  if (!cli && !computed_cls && has_cli)
    return cli_default;
  if (required)
    return unknown(Reason::absent, "has no default");
  return unknown(Reason::machine, "a default that is computed at run time");
}

const Schema* Schema::get(std::string_view framework, std::string_view version) {
  const SchemaBlob* blob = blob_of(framework);
  if (!blob)
    return nullptr;
  const SchemaVersions& versions = versions_of(*blob);
  const std::size_t newest = versions.names.size() - 1;
  if (version.empty())
    return decoded_schema(*blob, newest);
  if (const auto index = by_commit(versions, version))
    return decoded_schema(*blob, *index);
  const std::optional<Version> wanted = Version::parse(version);
  if (!wanted)
    return decoded_schema(*blob, newest);
  std::size_t index = 0;
  for (std::size_t i = 0; i <= newest; ++i) {
    const std::optional<Version> have = Version::parse(versions.names[i]);
    if (have && *have <= *wanted)
      index = i;
  }
  return decoded_schema(*blob, index);
}

std::span<const std::string_view> Schema::frameworks() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> out;
    for (const SchemaBlob& blob : schema_blobs())
      out.push_back(blob.framework);
    return out;
  }();
  return names;
}

std::span<const std::string_view> Schema::versions(std::string_view framework) {
  const SchemaBlob* blob = blob_of(framework);
  if (!blob)
    return {};
  return versions_of(*blob).names;
}

bool Schema::measured(std::string_view framework, std::string_view version) {
  const SchemaBlob* blob = blob_of(framework);
  if (!blob)
    return false;
  const SchemaVersions& versions = versions_of(*blob);
  if (by_commit(versions, version))
    return true;
  const std::optional<Version> wanted = Version::parse(version);
  return wanted && std::any_of(versions.names.begin(), versions.names.end(), [&](auto name) {
           const std::optional<Version> have = Version::parse(name);
           return have && *have == *wanted;
         });
}

const Key* Schema::find(std::string_view name) const {
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), name,
                                   [](const Key& a, std::string_view b) { return a.name < b; });
  if (at != keys_.end() && at->name == name)
    return &*at;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || tables_->sections.empty())
    return nullptr;
  return find_nested(section_classes(name.substr(0, dot)), name.substr(dot + 1), 0);
}

const Key* Schema::find_nested(std::span<const std::string_view> targets, std::string_view path,
                               int depth) const {
  if (depth > 8)
    return nullptr;
  const std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  const auto descend = [&](const ClassInfo& info) -> const Key* {
    const Key* key = field(info, head);
    if (!key || dot == std::string_view::npos)
      return key;
    const std::string_view rest = path.substr(dot + 1);
    if (const Key* found = find_nested(key->type.classes, rest, depth + 1))
      return found;
    const std::string_view built[] = {key->builds};
    return key->builds.empty() ? nullptr : find_nested(built, rest, depth + 1);
  };
  for (std::string_view target : targets) {
    const ClassInfo* info = find_class(target);
    if (const Key* key = info ? descend(*info) : nullptr)
      return key;
  }
  // A subclass may stand in its base's place.
  std::call_once(tables_->derived_made, [&] {
    for (const ClassInfo& info : tables_->classes) {
      for (std::string_view base : info.bases)
        tables_->derived.emplace_back(base, &info);
    }
    std::sort(tables_->derived.begin(), tables_->derived.end());
  });
  std::vector<const ClassInfo*> candidates;  // in the order of the classes
  for (std::string_view target : targets) {
    auto at = std::lower_bound(tables_->derived.begin(), tables_->derived.end(),
                               std::pair<std::string_view, const ClassInfo*>(target, nullptr));
    for (; at != tables_->derived.end() && at->first == target; ++at)
      candidates.push_back(at->second);
  }
  std::sort(candidates.begin(), candidates.end());
  for (const ClassInfo* info : candidates) {
    if (const Key* key = descend(*info))
      return key;
  }
  return nullptr;
}

bool Schema::has_prefix(std::string_view prefix) const {
  const std::string start = std::string(prefix) + ".";
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), start,
                                   [](const Key& a, const std::string& b) { return a.name < b; });
  return at != keys_.end() && at->name.starts_with(start);
}

std::string_view Schema::nearest_key(std::string_view name) const {
  std::vector<std::string_view> names;
  names.reserve(keys_.size());
  const std::size_t dot = name.rfind('.');
  const std::string_view parent =
      dot == std::string_view::npos ? std::string_view() : name.substr(0, dot + 1);
  for (const Key& key : keys_) {  // a slip in the last part is likelier than one in the path
    if (!parent.empty() && key.name.starts_with(parent)) {
      names.push_back(key.name.substr(parent.size()));
    }
  }
  const std::string_view sibling = nearest(name.substr(parent.size()), names);
  if (!sibling.empty())
    return {sibling.data() - parent.size(), parent.size() + sibling.size()};
  names.clear();
  for (const Key& key : keys_)
    names.push_back(key.name);
  return nearest(name, names);
}

std::optional<Lifetime> Schema::history(std::string_view name) const {
  const SchemaVersions& versions = versions_of(*tables_->blob);
  const std::uint64_t with = versions_with(*tables_->blob, name);
  std::optional<Lifetime> life;
  if (with) {
    life.emplace();
    life->since = versions.names[static_cast<std::size_t>(std::countr_zero(with))];
    const auto last = static_cast<std::size_t>(63 - std::countl_zero(with));
    if (last + 1 < versions.names.size())
      life->until = versions.names[last + 1];
  }
  for (const Rename& rename : tables_->renames) {
    if (rename.from != name)
      continue;
    if (!life)
      life.emplace();
    life->note = rename.note;
    const bool there = find(rename.to) || find_flag(rename.to);
    if (there)
      life->replacement = rename.to, life->old_name = true;
  }
  return life;
}

std::string_view Schema::since(std::string_view name) const {
  const std::uint64_t with = versions_with(*tables_->blob, name);
  if (!with || (with & 1))
    return {};
  return versions_of(*tables_->blob).names[static_cast<std::size_t>(std::countr_zero(with))];
}

bool Schema::known_script(std::string_view path) {
  static constexpr std::string_view upstream[] = {"",
                                                  "pretrain_gpt.py",
                                                  "pretrain_hybrid.py",
                                                  "pretrain_mamba.py",
                                                  "pretrain_bert.py",
                                                  "pretrain_t5.py",
                                                  "pretrain_vlm.py",
                                                  "train_rl.py"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::find(std::begin(upstream), std::end(upstream), name) != std::end(upstream);
}

const Option* Schema::find_flag(std::string_view flag, std::string_view script) const {
  const bool any = !known_script(script);
  const Option* found = nullptr;
  for (auto at = flags_from(flag); at != tables_->flags.end() && at->first == flag; ++at) {
    const Option& option = options_[at->second];
    if (option.entry.empty()) {
      return &option;
    }
    if (!script.empty() && file_of(option.entry) == file_of(script)) {
      return &option;
    }
    const bool package = !option.entry.ends_with(".py");
    if (package || any) {
      found = &option;
    }
  }
  return found;
}

bool Schema::of_another_script(const Option& option, std::string_view script) {
  return option.entry.ends_with(".py") && file_of(option.entry) != file_of(script);
}

std::string_view Schema::flag_owner(std::string_view flag) const {
  const auto at = flags_from(flag);
  return at != tables_->flags.end() && at->first == flag ? options_[at->second].entry
                                                         : std::string_view();
}

std::vector<std::pair<std::string_view, std::size_t>>::const_iterator Schema::flags_from(
    std::string_view flag) const {
  return std::lower_bound(tables_->flags.begin(), tables_->flags.end(), flag,
                          [](const auto& a, std::string_view b) { return a.first < b; });
}

std::string_view Schema::nearest_flag(std::string_view flag) const {
  std::vector<std::string_view> names;
  names.reserve(tables_->flags.size());
  for (const auto& [text, index] : tables_->flags)
    names.push_back(text);
  return nearest(flag, names);
}

std::string_view Schema::flag_of(std::string_view dest, bool negative) const {
  for (const Option& option : options_) {
    if (option.dest != dest || option.flags.empty())
      continue;
    if (option.action == Action::boolean_optional) {
      return negative ? option.flags.back() : option.flags.front();
    }
    if ((option.action == Action::store_false) == negative)
      return option.flags.front();
  }
  return {};
}

std::span<const ClassInfo> Schema::classes() const {
  return tables_->classes;
}
std::span<const std::string_view> Schema::sections() const {
  return tables_->section_names;
}
std::span<const TreeFile> Schema::tree_files() const {
  return tables_->files;
}

const ClassInfo* Schema::find_class(std::string_view name) const {
  const auto at =
      std::lower_bound(tables_->classes.begin(), tables_->classes.end(), name,
                       [](const ClassInfo& a, std::string_view b) { return a.target < b; });
  if (at != tables_->classes.end() && at->target == name)
    return &*at;
  // A package that re-exports the class, or a bare name: the module that shares most with it.
  const std::string_view bare = name.substr(name.rfind('.') + 1);
  const ClassInfo* best = nullptr;
  std::size_t best_common = 0;
  const auto& names = tables_->by_name;
  auto same = std::lower_bound(names.begin(), names.end(), bare,
                               [](const auto& a, std::string_view b) { return a.first < b; });
  for (; same != names.end() && same->first == bare; ++same) {
    const ClassInfo& info = *same->second;
    const auto common = static_cast<std::size_t>(
        std::mismatch(info.target.begin(), info.target.end(), name.begin(), name.end()).first -
        info.target.begin());
    if (!best || common > best_common)
      best = &info, best_common = common;
  }
  return best;
}

bool Schema::is_a(std::string_view class_name, std::string_view base) const {
  const ClassInfo* info = find_class(class_name);
  const ClassInfo* wanted = find_class(base);
  if (!info || !wanted)
    return false;
  return info == wanted ||
         std::find(info->bases.begin(), info->bases.end(), wanted->target) != info->bases.end();
}

const Key* Schema::field(const ClassInfo& info, std::string_view name) const {
  const auto own = [&](const ClassInfo& c) -> const Key* {
    const auto at = std::lower_bound(c.own_fields.begin(), c.own_fields.end(), name,
                                     [](const Key& a, std::string_view b) { return a.name < b; });
    return at != c.own_fields.end() && at->name == name ? &*at : nullptr;
  };
  if (const Key* key = own(info))
    return key;
  for (std::string_view base : info.bases) {
    const ClassInfo* c = find_class(base);
    if (const Key* key = c ? own(*c) : nullptr)
      return key;
  }
  return nullptr;
}

std::vector<const Key*> Schema::fields(const ClassInfo& info) const {
  std::vector<const Key*> out;
  std::unordered_map<std::string_view, std::size_t> place;
  const auto add = [&](const ClassInfo& c) {
    for (const Key& key : c.own_fields) {
      const auto [at, fresh] = place.emplace(key.name, out.size());
      if (fresh)
        out.push_back(nullptr);
      out[at->second] = &key;
    }
  };
  for (auto base = info.bases.rbegin(); base != info.bases.rend(); ++base) {
    if (const ClassInfo* c = find_class(*base))
      add(*c);
  }
  add(info);
  return out;
}

std::span<const std::string_view> Schema::section_classes(std::string_view section) const {
  for (const auto& [name, classes] : tables_->sections) {
    if (name == section)
      return classes;
  }
  return {};
}

const TreeFile* Schema::tree_file(std::string_view path) const {
  const auto& files = tables_->files;
  const auto at =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const TreeFile& a, std::string_view b) { return a.path < b; });
  return at != files.end() && at->path == path ? &*at : nullptr;
}

std::span<const std::string_view> Schema::spellings(std::string_view canonical) const {
  const auto found = tables_->canonical.find(canonical);
  return found != tables_->canonical.end() ? found->second : std::span<const std::string_view>();
}

std::string_view Schema::canonical(std::string_view key) const {
  const auto* found = find_pair(tables_->canonical_of, key);
  return found ? found->second : std::string_view();
}

std::span<const std::string_view> Schema::canonical_names() {
  return schema_canonical_names();
}

}  // namespace shardlint
