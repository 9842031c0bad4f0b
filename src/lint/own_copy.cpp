#include "lint/own_copy.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/yaml/evaluate.h"
#include "frontend/yaml/flatten.h"
#include "lint/overlay.h"
#include "schema/schema.h"

namespace shardlint {

// Where a package lies in a repository, and which of its files give it away.
struct CopyLayout {
  std::string_view framework;
  std::span<const std::string_view> folders, marks, versions, sources;
};

namespace {

constexpr std::uint64_t largest = 1u << 20;  // of a file that is looked into

constexpr std::string_view verl_folders[] = {
    "", "verl", "src", "src/verl", "training", "third_party/verl", "external/verl"};
constexpr std::string_view verl_marks[] = {"verl/trainer/main_ppo.py"};
constexpr std::string_view verl_versions[] = {"verl/version/version"};
constexpr std::string_view verl_sources[] = {"verl", "verl/workers/config", "verl/trainer/config"};

constexpr std::string_view lm_folders[] = {"", "Megatron-LM", "third_party/Megatron-LM",
                                           "3rdparty/Megatron-LM"};
constexpr std::string_view lm_marks[] = {"megatron/training/arguments.py", "megatron/arguments.py"};
constexpr std::string_view lm_versions[] = {"megatron/core/package_info.py"};
constexpr std::string_view lm_sources[] = {"megatron",
                                           "megatron/training",
                                           "megatron/training/config",
                                           "megatron/core",
                                           "megatron/core/transformer",
                                           "megatron/core/distributed",
                                           "megatron/core/optimizer"};

constexpr std::string_view bridge_folders[] = {"src", ""};
constexpr std::string_view bridge_marks[] = {"megatron/bridge/training/config.py"};
constexpr std::string_view bridge_versions[] = {"megatron/bridge/package_info.py"};
constexpr std::string_view bridge_sources[] = {"megatron/bridge/training"};

constexpr CopyLayout layouts[] = {
    {"verl", verl_folders, verl_marks, verl_versions, verl_sources},
    {"megatron-lm", lm_folders, lm_marks, lm_versions, lm_sources},
    {"megatron-bridge", bridge_folders, bridge_marks, bridge_versions, bridge_sources},
};

const CopyLayout* layout_of(std::string_view framework) {
  const auto at = std::find_if(std::begin(layouts), std::end(layouts),
                               [&](const CopyLayout& each) { return each.framework == framework; });
  return at == std::end(layouts) ? nullptr : at;
}

std::optional<std::string> read_small(const Disk& disk, const std::string& path) {
  const std::optional<std::uint64_t> size = disk.size(path);
  return size && *size <= largest ? disk.read(path) : std::nullopt;
}

// `NAME = 3` or `NAME = "rc1"` of package_info.py.
std::string assigned(std::string_view text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) {
      continue;
    }
    const std::string_view rest = trim(line.substr(name.size()));
    if (rest.starts_with('=')) {
      std::string_view value = trim(rest.substr(1).substr(0, rest.find('#') - 1));
      while (value.size() > 1 && (value.front() == '"' || value.front() == '\'')) {
        value = value.substr(1, value.size() - 2);
      }
      return std::string(value);
    }
  }
  return {};
}

std::string version_in(std::string_view path, std::string_view text) {
  if (!path.ends_with(".py")) {
    return std::string(trim(text));
  }
  const std::string major = assigned(text, "MAJOR"), minor = assigned(text, "MINOR");
  return major.empty() || minor.empty()
             ? std::string()
             : fmt::format("{}.{}.{}{}", major, minor, assigned(text, "PATCH"),
                           assigned(text, "PRE_RELEASE"));
}

bool word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// Literals that are one word, flags among them, by their shape alone.
void add_words(std::string_view text, std::set<std::string, std::less<>>& into) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool quoted = c == '"' || c == '\'';
    std::size_t end = at + (quoted ? 1 : 0);
    while (end < text.size() && word_character(text[end])) {
      ++end;
    }
    if (quoted && end < text.size() && text[end] == c && end > at + 1) {
      into.emplace(text.substr(at + 1, end - at - 1));
      at = end + 1;
    } else {
      at = std::max(end, at + 1);
    }
  }
}

// `name: type` in the body of `class Name`, each as Name.name.
void add_fields(std::string_view text, std::set<std::string, std::less<>>& into) {
  std::string inside;
  for (std::string_view line : split(text, '\n')) {
    if (line.starts_with("class ")) {
      inside = trim(line.substr(6, line.find_first_of("(:") - 6));
    } else if (!line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != ')') {
      inside.clear();
    }
    const std::size_t colon = line.find(':');
    if (inside.empty() || colon == std::string_view::npos || !line.starts_with("    ")) {
      continue;
    }
    const std::string_view name = line.substr(4, colon - 4);
    if (!name.empty() && std::all_of(name.begin(), name.end(), word_character)) {
      into.insert(inside + "." + std::string(name));
    }
  }
}

// "# @package _global_" above everything else.
std::string package_of(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty()) {
      continue;
    }
    if (!line.starts_with('#')) {
      break;
    }
    line = trim(line.substr(1));
    if (line.starts_with("@package ")) {
      return std::string(trim(line.substr(9)));
    }
  }
  return {};
}

std::unique_ptr<DiskTree::File> read_tree_file(std::string path, const Source& source) {
  auto file = std::make_unique<DiskTree::File>();
  file->path = std::move(path);
  file->package = package_of(source.text());
  file->document = yaml::read(source);
  const yaml::Node* top = file->document.root();
  if (!file->document.ok || !top || !top->is_mapping()) {
    return nullptr;
  }
  file->tree.path = file->path;
  file->tree.package = file->package;
  const yaml::Scope scope{top, yaml::Mode::omegaconf, false, false};
  for (const yaml::Pair& pair : top->entries()) {
    const std::string key = yaml::key_text(*pair.key);
    Value value = yaml::evaluate(scope, *pair.value, key).value;
    if (key != "defaults") {
      file->tree.body.emplace_back(key, std::move(value));
    } else if (const List* list = value.if_list()) {
      file->tree.defaults = *list;
    }
  }
  return file;
}

}  // namespace

const TreeFile* DiskTree::find(std::string_view path) {
  if (const auto known = files_.find(path); known != files_.end()) {
    return known->second ? &known->second->tree : nullptr;
  }
  std::unique_ptr<File>& file = files_[std::string(path)];
  for (const std::string& folder : folders_) {
    const std::string name = normal_path(join_path(folder, std::string(path) + ".yaml"));
    const Source* source = sources_->find(name);
    if (!source && disk_->is_file(name)) {
      std::optional<std::string> text = read_small(*disk_, name);
      source = text ? &sources_->add(name, std::move(*text)) : nullptr;
    }
    if (source && (file = read_tree_file(std::string(path), *source))) {
      return &file->tree;
    }
  }
  return nullptr;
}

const DiskTree::File* DiskTree::file(const TreeFile& tree) const {
  const auto known = files_.find(tree.path);
  const File* file = known == files_.end() ? nullptr : known->second.get();
  return file && &file->tree == &tree ? file : nullptr;
}

OwnCopy::OwnCopy(std::string_view framework, std::string folder, const Disk& disk)
    : framework_(framework), folder_(std::move(folder)), disk_(&disk) {
  for (std::string_view path : layout_of(framework)->versions) {
    if (const auto text = read_small(disk, join_path(folder_, path))) {
      version_ = version_in(path, *text);
    }
  }
  measured_ = !version_.empty() && Schema::measured(framework, version_);
}

void OwnCopy::read_sources() const {
  if (words_) {
    return;
  }
  words_.emplace();
  for (std::string_view source : layout_of(framework_)->sources) {
    const std::string path = join_path(folder_, source);
    for (const std::string& file : disk_->list(path)) {
      const auto text =
          file.ends_with(".py") ? read_small(*disk_, join_path(path, file)) : std::nullopt;
      if (text) {
        add_words(*text, *words_);
        add_fields(*text, fields_);
      }
    }
  }
  for (const std::string& field : fields_) {
    words_->insert("--" + replace_all(field.substr(field.find('.') + 1), "_", "-"));
  }
}

bool OwnCopy::declares(std::string_view name) const {
  read_sources();
  return words_->contains(name) ||
         (name.starts_with("--no-") && words_->contains("--" + std::string(name.substr(5))));
}

bool OwnCopy::has_field(std::string_view class_name, std::string_view field) const {
  read_sources();
  return fields_.contains(fmt::format("{}.{}", class_name, field));
}

DiskTree& OwnCopy::tree() const {
  if (!tree_) {
    sources_ = std::make_unique<Sources>();
    tree_ = std::make_unique<DiskTree>(*sources_, *disk_);
    tree_->add_folder(join_path(folder_, "verl/trainer/config"));
  }
  return *tree_;
}

const OwnCopy* OwnCopies::beside(std::string_view framework, const std::string& file) {
  const CopyLayout* layout = layout_of(framework);
  return layout ? around(*layout, parent_path(file)) : nullptr;
}

// Each folder is looked into once: what its subfolders ask for is remembered.
const OwnCopy* OwnCopies::around(const CopyLayout& layout, const std::string& parent) {
  const auto [at, fresh] =
      by_parent_.emplace(std::pair(std::string(layout.framework), parent), nullptr);
  if (!fresh) {
    return at->second;
  }
  const OwnCopy* nearest = nullptr;
  for (std::string_view mark : layout.marks) {
    for (std::string_view folder : layout.folders) {
      const std::string root = normal_path(join_path(parent, folder));
      if (!disk_->is_file(join_path(root, mark))) {
        continue;
      }
      std::unique_ptr<OwnCopy>& copy = copies_[{std::string(layout.framework), root}];
      if (!copy) {
        copy = std::make_unique<OwnCopy>(layout.framework, root, *disk_);
      }
      if (!nearest || copy->folder().size() > nearest->folder().size()) {
        nearest = copy.get();
      }
    }
  }
  const std::string above = parent_path(parent);
  if (!nearest && parent != "." && parent != "/" && above != parent) {
    nearest = around(layout, above);
  }
  return by_parent_[{std::string(layout.framework), parent}] = nearest;
}

std::string OwnTarget::doubt() const {
  if (!copy || copy->measured()) {
    return {};
  }
  return copy->version().empty()
             ? fmt::format("a copy without a version lies in {}", copy->folder())
             : fmt::format("{} lies in {}, no release that the rules were held against",
                           copy->version(), copy->folder());
}

OwnTarget own_target(const Options& options, OwnCopies& copies, std::string_view framework,
                     const std::string& file) {
  OwnTarget out{target_version(options, framework), nullptr};
  if (out.version.empty() && !file.empty()) {
    out.copy = copies.beside(framework, file);
    out.version = out.copy ? out.copy->version() : std::string();
  }
  return out;
}

void doubt(Diagnostic& finding, const std::string& why) {
  if (finding.severity == Severity::error && !why.empty()) {
    finding.severity = Severity::warning;
    finding.verdict = Verdict::unknown;
    finding.unknowns.push_back({finding.framework, "version", why, finding.where});
  }
}

}  // namespace shardlint
