#include "lint/own_files.h"

#include <map>

#include "base/strings.h"
#include "frontend/yaml/dialect.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/flatten.h"
#include "lint/own_copy.h"

namespace shardlint {
namespace {

constexpr std::size_t largest = 1u << 20;  // of a tree's file

const Source* read_source(const std::string& path, Sources& sources, const Disk& disk) {
  if (const Source* known = sources.find(path)) {
    return known;
  }
  const std::optional<std::uint64_t> size = disk.size(path);
  if (!size || *size > largest) {
    return nullptr;
  }
  std::optional<std::string> text = disk.read(path);
  return text ? &sources.add(path, std::move(*text)) : nullptr;
}

}  // namespace

struct OwnTrees::Store {
  Store(Sources& sources, const Disk& disk) : files(sources, disk) {}

  // Nothing is done to the files of a tree that is built in.
  void place(const TreeFile& tree, HydraNode& body) const {
    const DiskTree::File* known = files.file(tree);
    if (!known) {
      return;
    }
    Facts written;
    const yaml::Node& top = *known->document.root();
    yaml::flatten({&top, yaml::Mode::omegaconf, false, false}, top, "", written);
    std::map<std::string, const Fact*> by_key;
    for (const Fact& fact : written.facts) {
      by_key[fact.key] = &fact;
    }
    place_node(body, "", by_key);
  }

  static void place_node(HydraNode& node, const std::string& path,
                         const std::map<std::string, const Fact*>& by_key) {
    for (HydraNode::Entry& entry : node.entries) {
      const std::string key = path.empty() ? entry.key : path + "." + entry.key;
      if (const auto found = by_key.find(key); found != by_key.end()) {
        entry.node.key_span = found->second->key_span;
        entry.node.value_span = found->second->value_span;
        entry.node.origin = Origin::set;
      }
      place_node(entry.node, key, by_key);
    }
  }

  DiskTree files;
};

std::optional<std::string> find_beside(const Word& word, const std::string& script,
                                       const Disk& disk) {
  std::string path = word.text();
  const std::size_t mark = path.rfind(Word::unknown_mark);
  if (mark != std::string::npos) {
    path.erase(0, mark + 1);
    while (path.starts_with('/')) {
      path.erase(0, 1);
    }
  }
  if (path.empty() || path.starts_with('/')) {
    return std::nullopt;
  }
  return find_upwards(disk, parent_path(script), path);
}

OwnTrees own_trees(std::span<const Word> words, const std::string& program, bool module,
                   const std::string& script, Sources& sources, const Disk& disk) {
  OwnTrees out;
  auto store = std::make_shared<OwnTrees::Store>(sources, disk);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string text = words[i].text();
    const std::size_t equals = text.find('=');
    const std::string flag = text.substr(0, equals);
    const bool path = flag == "--config-path" || flag == "-cp";
    if (!path && flag != "--config-dir" && flag != "-cd") {
      continue;
    }
    const bool inside = equals != std::string::npos;
    if (!inside && i + 1 >= words.size()) {
      break;
    }
    const Word value = inside ? words[i].slice(equals + 1) : words[++i];
    // Of --config-path a relative one starts at the program's file, which for a module of verl's
    // own is the tree that is built in.
    if (path && value.known() && !value.text().starts_with('/')) {
      if (module && program.starts_with("verl.")) {
        continue;
      }
      std::string file = module ? replace_all(program, ".", "/") : program;
      const Word there = literal_word(join_path(parent_path(file), value.text()));
      if (const auto found = find_beside(there, script, disk)) {
        store->files.add_folder(*found);
        continue;
      }
    }
    if (const auto found = find_beside(value, script, disk)) {
      store->files.add_folder(*found);
    } else {
      out.unreachable = true;
    }
  }
  if (!store->files.empty()) {
    out.find = [store](std::string_view path) { return store->files.find(path); };
    out.place = [store](const TreeFile& file, HydraNode& body) { store->place(file, body); };
  }
  out.store = std::move(store);
  return out;
}

void OwnTrees::lie_over(const OwnCopy& copy) {
  find = [over = find, &copy](std::string_view path) {
    const TreeFile* file = over ? over(path) : nullptr;
    return file ? file : copy.tree().find(path);
  };
}

std::optional<Facts> override_file(const std::string& path, Sources& sources, const Disk& disk) {
  const Source* source = read_source(path, sources, disk);
  if (!source) {
    return std::nullopt;
  }
  // The document is not needed any more: facts point into the source.
  const yaml::Document document = yaml::read(*source);
  if (!document.ok) {
    return std::nullopt;
  }
  yaml::Reading reading = yaml::read_dialect(document, path, "megatron-bridge");
  if (reading.configurations.empty()) {
    return std::nullopt;
  }
  return std::move(reading.configurations.front());
}

std::vector<Fact> runtime_environment(const std::string& path, Sources& sources, const Disk& disk) {
  std::vector<Fact> out;
  const Source* source = read_source(path, sources, disk);
  const yaml::Document document = source ? yaml::read(*source) : yaml::Document();
  const yaml::Node* top = document.ok ? document.root() : nullptr;
  const yaml::Node* variables = top ? top->find("env_vars") : nullptr;
  if (!variables || !variables->is_mapping()) {
    return out;
  }
  for (const yaml::Pair& pair : variables->entries()) {
    const Value value = yaml::to_value(*pair.value, yaml::Mode::pyyaml11);
    if (value.if_string()) {
      out.push_back({"env." + yaml::key_text(*pair.key), value, pair.key->span, pair.value->span,
                     Origin::environment, ""});
    }
  }
  return out;
}

}  // namespace shardlint
