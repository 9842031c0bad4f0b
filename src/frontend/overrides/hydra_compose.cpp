#include "frontend/overrides/hydra_compose.h"

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/strings.h"

namespace shardlint {
namespace {

constexpr int deepest = 30;         // files that include one another
constexpr std::size_t most = 2000;  // files merged

std::string joined(std::string_view a, std::string_view b) {
  std::string out(a);
  if (!out.empty() && !b.empty()) {
    out += '.';
  }
  return out += b;
}

class Composer {
 public:
  Composer(const GroupChoices& choices, const FindTreeFile& find, const PlaceTreeFile& place)
      : choices_(choices), find_(find), place_(place) {
    out_.tree.is_map = true;
  }

  Composed compose(std::string_view root) {
    expand(std::string(root), "", {}, "", 0);
    for (const auto& [key, option] : choices_.appended) {
      const std::size_t at = key.find('@');
      const std::string group = key.substr(0, at);
      const std::string package =
          at == std::string::npos ? replace_all(group, "/", ".") : key.substr(at + 1);
      out_.used[key] = option;
      expand(group + "/" + option, package, {}, key, 1);
    }
    for (const auto& [key, option] : choices_.chosen) {
      if (!seen_.contains(key)) {
        out_.unused.push_back(key);
      }
    }
    out_.tree.erase("hydra");
    return std::move(out_);
  }

 private:
  using Overrides = std::map<std::string, Value>;

  void expand(const std::string& path, std::string package, Overrides overrides,
              const std::string& choice, int depth) {
    const TreeFile* file = depth < deepest && out_.files.size() < most ? find_(path) : nullptr;
    if (!file) {
      out_.missing.push_back({path, choice});
      return;
    }
    if (file->package == "_global_") {
      package.clear();
    } else if (!file->package.empty() && file->package != "_group_") {
      package = file->package;
    }
    const std::string folder = path.find('/') == std::string::npos ? "" : parent_path(path);
    for (const Value& entry : file->defaults) {
      const auto [name, option] = parts(entry);
      if (name.starts_with("override ")) {
        overrides.emplace(trim(name.substr(9)), option);
      }
    }
    bool self = false;
    for (const Value& entry : file->defaults) {
      const std::string* text = entry.if_string();
      if (text && *text == "_self_") {
        merge(*file, package);
        self = true;
      } else if (text) {
        const std::size_t at = text->find('@');
        const std::string where =
            at == std::string::npos ? package : joined(package, text->substr(at + 1));
        expand(target(folder, text->substr(0, at)), where, overrides, "", depth + 1);
      } else {
        group(entry, folder, package, overrides, depth);
      }
    }
    if (!self) {
      merge(*file, package);
    }
  }

  void group(const Value& entry, const std::string& folder, const std::string& package,
             const Overrides& overrides, int depth) {
    auto [name, option] = parts(entry);
    if (name.empty() || name.starts_with("override ")) {
      return;
    }
    bool optional = false;
    if (name.starts_with("optional ")) {
      optional = true;
      name = trim(name.substr(9));
    }
    const std::size_t at = name.find('@');
    const std::string group = target(folder, name.substr(0, at));
    const std::string where = joined(
        package, at == std::string::npos ? replace_all(group, "/", ".") : name.substr(at + 1));
    const std::string key = group_key(group, where);
    seen_.insert(key);
    Value chosen = option;
    if (const auto found = choices_.chosen.find(key); found != choices_.chosen.end()) {
      chosen = found->second;
    } else if (const auto by_key = overrides.find(key); by_key != overrides.end()) {
      chosen = by_key->second;
    } else if (const auto by_name = overrides.find(group); by_name != overrides.end()) {
      chosen = by_name->second;
    }
    const List* list = chosen.if_list();
    const List one{chosen};
    for (const Value& item : list ? *list : one) {
      if (item.is_null()) {
        continue;
      }
      const std::string option_name = filled(item.text());
      out_.used[key] = option_name;
      if (optional && !find_(group + "/" + option_name)) {
        continue;
      }
      expand(group + "/" + option_name, where, overrides, key, depth + 1);
    }
  }

  // ${group} in an option is the choice made for that group so far.
  std::string filled(std::string text) const {
    for (std::size_t at; (at = text.find("${")) != std::string::npos;) {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) {
        break;
      }
      const std::string name = text.substr(at + 2, end - at - 2);
      const auto known = out_.used.find(name);
      text.replace(at, end + 1 - at, known == out_.used.end() ? std::string() : known->second);
    }
    return text;
  }

  void merge(const TreeFile& file, const std::string& package) {
    out_.files.emplace_back(file.path);
    HydraNode* node = &out_.tree;
    for (std::string_view part : split(package, '.')) {
      if (part.empty()) {
        continue;
      }
      node = &node->make(part);
      if (!node->is_map) {
        *node = HydraNode{};
        node->is_map = true;
      }
    }
    HydraNode body = node_of(Value(file.body));
    if (place_) {
      place_(file, body);
    }
    merge_node(*node, body);
  }

  static std::pair<std::string, Value> parts(const Value& entry) {
    const Map* map = entry.if_map();
    if (!map || map->size() != 1) {
      return {};
    }
    return {std::string(trim(map->front().first)), map->front().second};
  }

  // Relative to the file's own folder, or from the top with a leading slash.
  static std::string target(const std::string& folder, std::string_view name) {
    name = trim(name);
    return name.starts_with('/')
               ? std::string(name.substr(1))
               : normal_path(folder.empty() ? std::string(name) : folder + "/" + std::string(name));
  }

  const GroupChoices& choices_;
  const FindTreeFile& find_;
  const PlaceTreeFile& place_;
  Composed out_;
  std::set<std::string> seen_;
};

}  // namespace

std::string group_key(std::string_view group, std::string_view package) {
  std::string own = replace_all(std::string(group), "/", ".");
  if (own == package || package.empty()) {
    return std::string(group);
  }
  return std::string(group) + "@" + std::string(package);
}

Composed compose_tree(std::string_view root, const GroupChoices& choices, const FindTreeFile& find,
                      const PlaceTreeFile& place) {
  return Composer(choices, find, place).compose(root);
}

}  // namespace shardlint
