#include "frontend/python/modules.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "frontend/grammars/grammars.h"
#include "frontend/python/tree.h"

namespace shardlint::python {
namespace {

constexpr std::size_t max_modules = 4000;

// The folders in which the packages of a checkout lie.
void add_root(std::vector<std::string>& roots, const Disk& disk, const std::string& root) {
  for (const char* below : {"", "src", "3rdparty/Megatron-LM"}) {
    const std::string folder = *below ? join_path(root, below) : normal_path(root);
    if (disk.is_directory(folder) && std::find(roots.begin(), roots.end(), folder) == roots.end()) {
      roots.push_back(folder);
    }
  }
}

}  // namespace

ModuleTable::ModuleTable(const Disk& disk, Sources& sources, Names& names,
                         std::vector<std::string> roots, ParsedFiles* files)
    : disk_(disk), sources_(sources), names_(names), parsed_(files) {
  for (const std::string& root : roots) {
    add_root(roots_, disk_, root);
  }
}

bool ModuleTable::is_file(const std::string& path) {
  const auto [at, fresh] = files_.try_emplace(path, false);
  if (fresh) {
    at->second = disk_.is_file(path);
  }
  return at->second;
}

std::string ModuleTable::name_of(const std::string& path) const {
  std::string folder = parent_path(path), name = file_name(path);
  name = name.substr(0, name.size() - std::min<std::size_t>(name.size(), 3));  // .py
  std::string best;
  for (const std::string& root : roots_) {
    const std::string prefix = root == "." ? "" : root + "/";
    if (path.starts_with(prefix) && (best.empty() || prefix.size() > best.size())) {
      best = prefix;
    }
  }
  std::string dotted;
  if (!best.empty()) {
    dotted = path.substr(best.size(), path.size() - best.size() - 3);
    dotted = replace_all(dotted, "/", ".");
  } else {
    dotted = name;
    for (int up = 0; up < 32; ++up) {
      const bool package = disk_.is_file(join_path(folder, "__init__.py")) ||
                           file_name(folder) == "megatron";  // a namespace package
      if (!package || file_name(folder).empty()) {
        break;
      }
      dotted = file_name(folder) + "." + dotted;
      folder = parent_path(folder);
    }
  }
  if (dotted.ends_with(".__init__")) {
    dotted.resize(dotted.size() - 9);
  }
  return dotted;
}

std::vector<std::string> roots_above(const Disk& disk, const std::string& path) {
  std::vector<std::string> roots;
  std::string folder = parent_path(path);
  for (int up = 0; up < 12; ++up) {
    if (!disk.is_file(join_path(folder, "__init__.py")) && file_name(folder) != "megatron") {
      const bool holds_it = disk.is_directory(join_path(folder, "megatron")) ||
                            disk.is_directory(join_path(folder, "src/megatron"));
      if (holds_it || up == 0) {
        add_root(roots, disk, folder);
      }
    }
    const std::string parent = parent_path(folder);
    if (parent == folder || folder == ".") {
      break;
    }
    folder = parent;
  }
  return roots;
}

void ModuleTable::add_roots_above(const std::string& path) {
  const std::size_t before = roots_.size();
  for (std::string& root : roots_above(disk_, path)) {
    if (std::find(roots_.begin(), roots_.end(), root) == roots_.end()) {
      roots_.push_back(std::move(root));
    }
  }
  if (roots_.size() != before) {  // what was not found may be found now
    for (auto at = by_name_.begin(); at != by_name_.end();) {
      at = at->second ? std::next(at) : by_name_.erase(at);
    }
  }
}

Module* ModuleTable::open(const Source& source, std::vector<Diagnostic>& problems) {
  const std::string path = normal_path(source.name());
  if (auto found = by_path_.find(path); found != by_path_.end()) {
    const std::vector<Diagnostic>& kept = found->second->problems;
    problems.insert(problems.end(), kept.begin(), kept.end());
    return found->second.get();
  }
  // Packages found relative to the file: any of its folders may be where they start.
  add_roots_above(path);
  auto module = std::make_unique<Module>();
  module->path = path;
  module->name = name_of(path);
  module->is_package = file_name(path) == "__init__.py";
  Parsed parsed = read_syntax(source, names_);
  problems.insert(problems.end(), parsed.problems.begin(), parsed.problems.end());
  module->problems = std::move(parsed.problems);
  globals_.push_back(std::make_unique<Object>());
  module->globals = globals_.back().get();
  module->globals->shape = Shape::scope;
  if (parsed.syntax) {
    syntaxes_.push_back(std::move(parsed.syntax));
    module->syntax = syntaxes_.back().get();
    index(*module);
  }
  Module* made = module.get();
  by_path_.emplace(path, std::move(module));
  by_name_.emplace(made->name, made);
  return made;
}

Module* ModuleTable::open_shared(const std::string& path) {
  add_roots_above(path);
  Module* module = find(name_of(path));
  return module && module->path == path && module->syntax ? module : nullptr;
}

Module* ModuleTable::load(const std::string& path, std::string name, bool package) {
  if (auto found = by_path_.find(path); found != by_path_.end()) {
    order_matters = order_matters || found->second->name != name;
    return found->second.get();
  }
  if (by_path_.size() >= max_modules) {
    order_matters = true;
    return nullptr;
  }
  auto module = std::make_unique<Module>();
  module->path = path;
  module->name = std::move(name);
  module->is_package = package;
  globals_.push_back(std::make_unique<Object>());
  module->globals = globals_.back().get();
  module->globals->shape = Shape::scope;
  Module* made = module.get();
  by_path_.emplace(path, std::move(module));
  if (!is_file(path)) {
    return made;  // a namespace package
  }
  const Source* source = sources_.find(path);
  if (!source && parsed_) {
    if (const auto file = parsed_->open(path, disk_, names_)) {
      shared_.push_back(file);
      made->syntax = file->syntax.get();
      made->problems = file->problems;
    }
  } else if (const auto size = disk_.size(path); source || (size && *size <= max_parsed_bytes)) {
    auto text = source ? std::nullopt : disk_.read(path);
    if (text) {
      source = &sources_.add(path, std::move(*text));
    }
    Parsed parsed = source ? read_syntax(*source, names_) : Parsed();
    if (parsed.syntax) {
      syntaxes_.push_back(std::move(parsed.syntax));
      made->syntax = syntaxes_.back().get();
    }
    made->problems = std::move(parsed.problems);
  }
  if (made->syntax) {
    index(*made);
  }
  return made;
}

const Module* ModuleTable::opened(const std::string& path) const {
  const auto found = by_path_.find(normal_path(path));
  return found == by_path_.end() ? nullptr : found->second.get();
}

Module* ModuleTable::find(const std::string& name) {
  if (auto found = by_name_.find(name); found != by_name_.end()) {
    return found->second;
  }
  Module* module = nullptr;
  std::string namespace_folder;
  const bool plain = !name.empty() && name.find("..") == std::string::npos &&
                     name.find('/') == std::string::npos && name.size() < 300;
  for (std::size_t i = 0; plain && i < roots_.size() && !module; ++i) {
    const std::string base = join_path(roots_[i], replace_all(name, ".", "/"));
    const std::string package = join_path(base, "__init__.py");
    if (is_file(package)) {
      module = load(package, name, true);
    } else if (is_file(base + ".py")) {
      module = load(base + ".py", name, false);
    } else if (namespace_folder.empty() && disk_.is_directory(base)) {
      namespace_folder = base;
    }
  }
  if (!module && !namespace_folder.empty()) {
    module = load(namespace_folder, name, true);
  }
  by_name_.emplace(name, module);
  return module;
}

std::string ModuleTable::absolute(const Module& from, int level, std::string_view text) const {
  if (level == 0) {
    return std::string(text);
  }
  std::vector<std::string> parts;
  for (std::string_view part : split(from.name, '.')) {
    parts.emplace_back(part);
  }
  int drop = level - (from.is_package ? 1 : 0);
  while (drop-- > 0 && !parts.empty()) {
    parts.pop_back();
  }
  if (!text.empty()) {
    parts.emplace_back(text);
  }
  return join(parts, ".");
}

namespace {

void names_in(const Node& node, std::set<Name>& found) {
  if (node.tag == Tag::name) {
    found.insert(node.name);
  }
  for (const Node* kid : node.kids) {
    if (kid) {
      names_in(*kid, found);
    }
  }
}

}  // namespace

// A decorator of the module may enter what it decorates into a registry of the module: then the
// definition belongs to the registry's statements too.
void ModuleTable::index_decorated(Module& module) {
  std::unordered_map<Name, std::set<Name>> used;  // by functions of the module
  for (const Node* node : module.syntax->root()->kids) {
    if (node->tag == Tag::function) {
      used.emplace(node->name, std::set<Name>());
    }
  }
  for (const Node* node : module.syntax->root()->kids) {
    for (std::size_t i = 2;
         (node->tag == Tag::function || node->tag == Tag::class_) && i < node->kids.size(); ++i) {
      const Node* decorator = node->kids[i];
      decorator = decorator->tag == Tag::call ? decorator->kids[0] : decorator;
      const auto found = decorator->tag == Tag::name ? used.find(decorator->name) : used.end();
      if (found == used.end()) {
        continue;
      }
      if (found->second.empty()) {
        for (const Node* other : module.syntax->root()->kids) {
          if (other->tag == Tag::function && other->name == decorator->name) {
            names_in(*other->kids[1], found->second);
          }
        }
      }
      for (Name name : found->second) {
        const auto registry = module.touched_by.find(name);
        if (registry != module.touched_by.end() &&
            (registry->second.front()->tag == Tag::assign ||
             registry->second.front()->tag == Tag::annotated)) {
          registry->second.push_back(node);
        }
      }
    }
  }
}

void ModuleTable::index(Module& module) {
  for (const Node* statement : module.syntax->root()->kids) {
    touch(module, *statement, *statement);
  }
  index_decorated(module);
}

void ModuleTable::touch_target(Module& module, const Node& target, const Node& top) {
  switch (target.tag) {
    case Tag::name: {
      auto& list = module.touched_by[target.name];
      if (list.empty() || list.back() != &top) {
        list.push_back(&top);
      }
      break;
    }
    case Tag::attribute:
    case Tag::subscript:
    case Tag::star:
      if (target.kid(0)) {
        touch_target(module, *target.kid(0), top);
      }
      break;
    case Tag::tuple:
    case Tag::list:
      for (const Node* part : target.kids) {
        touch_target(module, *part, top);
      }
      break;
    default:
      break;
  }
}

// Which names a statement of the top level binds or may change: assignment targets, definitions,
// imports, the receiver and the arguments of a call that stands alone.
void ModuleTable::touch(Module& module, const Node& statement, const Node& top) {
  const auto bind = [&](Name name) {
    auto& list = module.touched_by[name];
    if (list.empty() || list.back() != &top) {
      list.push_back(&top);
    }
  };
  switch (statement.tag) {
    case Tag::assign:
    case Tag::annotated:
      for (std::size_t i = 1; i < statement.kids.size(); ++i) {
        touch_target(module, *statement.kids[i], top);
      }
      break;
    case Tag::augmented:
    case Tag::for_:
      touch_target(module, *statement.kids[0], top);
      break;
    case Tag::delete_:
      for (const Node* target : statement.kids) {
        touch_target(module, *target, top);
      }
      break;
    case Tag::function:
    case Tag::class_:
      bind(statement.name);
      return;
    case Tag::import:
    case Tag::import_from:
      for (const Node* alias : statement.kids) {
        if (alias->text == "*") {
          module.star_imports.push_back(&statement);
        } else {
          bind(alias->name ? alias->name
                           : names_.intern(alias->text.substr(0, alias->text.find('.'))));
        }
      }
      return;
    case Tag::expression:
      if (const Node* call = statement.kid(0); call && call->tag == Tag::call) {
        touch_target(module, *call->kids[0], top);
        for (std::size_t i = 1; i < call->kids.size(); ++i) {
          const Node* argument = call->kids[i];
          touch_target(module, argument->tag == Tag::keyword ? *argument->kids[0] : *argument, top);
        }
      }
      return;
    case Tag::with_:
      for (std::size_t i = 1; i < statement.kids.size(); ++i) {
        if (const Node* target = statement.kids[i]->kid(1)) {
          touch_target(module, *target, top);
        }
      }
      break;
    default:
      break;
  }
  for (const Node* kid : statement.kids) {
    if (kid && kid->tag == Tag::block) {
      for (const Node* inner : kid->kids) {
        touch(module, *inner, top);
      }
    } else if (kid && kid->tag == Tag::handler) {
      for (const Node* inner : kid->kids[1]->kids) {
        touch(module, *inner, top);
      }
    }
  }
}

}  // namespace shardlint::python
