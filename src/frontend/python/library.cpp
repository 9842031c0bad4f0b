#include <algorithm>
#include <cmath>

#include "frontend/python/eval.h"
#include "frontend/python/python.h"
#include "frontend/python/shipped.h"

namespace shardlint::python {
namespace {

// Modules whose functions leave their arguments alone.
constexpr std::string_view pure_modules[] = {
    "torch",     "logging",     "warnings", "os",        "sys",         "math",
    "json",      "re",          "pathlib",  "typing",    "collections", "itertools",
    "functools", "dataclasses", "inspect",  "importlib", "packaging",   "transformers",
    "datasets",  "numpy",       "argparse", "omegaconf", "time",        "datetime",
    "random",    "enum",        "string",   "textwrap",  "hydra",       "yaml",
    "shutil",    "subprocess",  "socket",   "platform",  "pprint",      "huggingface_hub",
    "nemo_run",  "rich",        "tqdm",     "io",        "glob",        "tempfile"};

}  // namespace

bool is_recipe_name(std::string_view qualified) {
  const std::string_view last = qualified.substr(qualified.rfind('.') + 1);
  return qualified.find("recipes") != std::string_view::npos &&
         (last.ends_with("_config") ||
          (last.starts_with("_") && last.find("_common") != std::string_view::npos));
}

Val Interpreter::copy(const Val& value, bool deep, std::map<const Object*, Object*>& copied) {
  if (value.is(Type::alternatives)) {
    Alternatives all;
    for (const Val& one : value.any->values) {
      all.values.push_back(copy(one, deep, copied));
    }
    Val made = value;
    made.any = keep(std::move(all));
    return made;
  }
  if (!value.is(Type::object) || value.object->shape == Shape::member) {
    return value;
  }
  if (auto found = copied.find(value.object); found != copied.end()) {
    Val made = value;
    made.object = found->second;
    return made;
  }
  Val made = value;
  made.object = keep(*value.object);
  copied[value.object] = made.object;
  if (deep) {
    for (Field& field : made.object->fields) {
      if (field.cell.present) {
        field.cell.value = copy(field.cell.value, true, copied);
      }
    }
    if (made.object->items) {
      Items items = *made.object->items;
      for (Val& one : items.values) {
        one = copy(one, true, copied);
      }
      made.object->items = keep(std::move(items));
    }
  }
  return made;
}

// Without the source of a recipe: what the catalogue says it sets, over the defaults of the
// classes.
std::optional<Val> Interpreter::shipped(const std::string& name, const Span& where) {
  if (!schema_ || schema_->version() != shipped_recipes_version()) {
    return std::nullopt;  // recipes change from one version to the next
  }
  const auto recipe = find_shipped_recipe(name);
  Class* container = catalogued("megatron.bridge.training.config.ConfigContainer");
  if (!recipe || !container) {
    return std::nullopt;
  }
  std::map<std::string, Object*, std::less<>> sections;
  Object root;
  root.cls = container;
  root.model = name.substr(name.rfind('.') + 1);
  const Val made = object(std::move(root), where);
  sections[""] = made.object;
  const std::string note = "set by the recipe " + recipe->name + " of Megatron-Bridge " +
                           recipe->version + std::string(shipped_with_shardlint);
  const std::string* kept_note = lasting_.make<std::string>(std::string(note));
  const Span end = where ? Span{where.source, where.end, where.end} : Span{};
  const auto put = [&](Object& owner, std::string_view field, const Val& value) {
    set_field(owner, names_.intern(field), value, where, end, *kept_note);
  };
  // Sections first, outer ones before inner ones.
  std::vector<std::pair<std::string, const Value*>> types;
  for (const auto& [key, value] : recipe->values) {
    if (key.ends_with("._type")) {
      types.emplace_back(key.substr(0, key.size() - 6), &value);
    }
  }
  std::sort(types.begin(), types.end(), [](const auto& a, const auto& b) {
    return std::pair(std::count(a.first.begin(), a.first.end(), '.'), a.first) <
           std::pair(std::count(b.first.begin(), b.first.end(), '.'), b.first);
  });
  for (const auto& [path, type] : types) {
    const std::size_t dot = path.rfind('.');
    const auto owner = sections.find(dot == std::string::npos ? "" : path.substr(0, dot));
    if (owner == sections.end()) {
      continue;
    }
    Val section;
    const std::string* target = type->if_string();
    if (Class* cls = target ? catalogued(*target) : nullptr) {
      Object instance;
      instance.cls = cls;
      section = object(std::move(instance), where);
      for (const FieldInfo& field : fields(*cls)) {
        if (field.kind == DefaultKind::factory && !field.builds) {
          SlotValue cell;
          cell.cell = {field_default(const_cast<FieldInfo&>(field), true), nullptr, true};
          journal_.set({section.object, Part::field, field.name}, cell);
        }
      }
    } else {
      const Unknown* unknown = type->if_unknown();
      section = opaque(target ? *target : unknown ? unknown->detail : "an object", where);
      const std::string& label = section.object->label;
      const std::size_t open = label.find('\''), close = label.find('\'', open + 1);
      if (open != std::string::npos && close != std::string::npos) {
        section.object->model = label.substr(open + 1, close - open - 1);
      }
    }
    sections[path] = section.object;
    put(*owner->second, path.substr(dot == std::string::npos ? 0 : dot + 1), section);
  }
  Items environment;
  for (const auto& [key, value] : recipe->values) {
    if (key.ends_with("._type")) {
      continue;
    }
    Val known = catalogue_value(value);
    known.where = where;
    if (key.starts_with("env_vars.")) {
      environment.keys.push_back(text(key.substr(9), where));
      environment.values.push_back(known);
      continue;
    }
    const std::size_t dot = key.rfind('.');
    const auto owner = sections.find(dot == std::string::npos ? "" : key.substr(0, dot));
    if (owner != sections.end()) {
      put(*owner->second, std::string_view(key).substr(dot == std::string::npos ? 0 : dot + 1),
          known);
    }
  }
  if (!environment.keys.empty()) {
    put(*sections[""], "env_vars", dict(environment.keys, environment.values, where));
  }
  // The container's other sections, where their class is certain.
  for (const FieldInfo& field : fields(*container)) {
    if (made.object->find(field.name)) {
      continue;
    }
    const auto classes = schema_->section_classes(names_.text(field.name));
    if (field.builds || (field.kind != DefaultKind::constant && classes.size() == 1)) {
      Class* cls = field.builds ? field.builds : catalogued(classes[0]);
      if (cls) {
        Object instance;
        instance.cls = cls;
        SlotValue cell;
        cell.cell = {object(std::move(instance), where), nullptr, true};
        journal_.set({made.object, Part::field, field.name}, cell);
      }
    }
  }
  return made;
}

std::optional<Val> Interpreter::call_library(const std::string& name, const Arguments& given,
                                             const Node& node) {
  const Span where = span(node);
  const Val* first = given.get(0);
  if (name == "copy.deepcopy" || name == "copy.copy") {
    if (!first) {
      return std::nullopt;
    }
    std::map<const Object*, Object*> copied;
    return copy(*first, name == "copy.deepcopy", copied);
  }
  if (name == "typing.cast" && given.positional.size() == 2) {
    return given.positional[1].value;
  }
  if (name == "dataclasses.replace" && first) {
    return map_alternatives(*first, [&](const Val& object) -> Val {
      if (!object.is(Type::object) || object.object->shape != Shape::instance || given.open) {
        return unknown_call(name, given, node, true);
      }
      std::map<const Object*, Object*> copied;
      Val made = copy(object, false, copied);
      made.where = where;
      for (const Argument& argument : given.keywords) {
        set_attribute(made, argument.name, argument.value, argument.key, argument.span, &node);
      }
      if (const Function* post = method(*made.object->cls, common_.post_init)) {
        call_function(*post, {}, node, &made);
      }
      return made;
    });
  }
  if (name == "dataclasses.fields" && first) {
    Class* cls = first->is(Type::cls) ? first->cls
                 : first->is(Type::object) && first->object->shape == Shape::instance
                     ? first->object->cls
                     : nullptr;
    Class* maker = cls ? dataclass_of(*cls) : nullptr;
    if (!maker || !cls->complete) {
      return mystery(Reason::dynamic, "fields()", where, true, Hint::object);
    }
    std::vector<Val> all;
    for (const FieldInfo& field : fields(*maker)) {
      Val one = opaque("a dataclass field", where);
      one.object->fields.push_back(
          {common_.name, {text(std::string(names_.text(field.name)), where), nullptr, true}});
      all.push_back(one);
    }
    return sequence(Shape::tuple, std::move(all), where);
  }
  if (name == "dataclasses.is_dataclass" && first) {
    if (first->is(Type::object) && first->object->shape == Shape::instance) {
      return yes_no(dataclass_of(*first->object->cls) != nullptr, where, "");
    }
    return yes_no(first->is_scalar() ? std::optional(false) : std::nullopt, where,
                  "is_dataclass()");
  }
  if (name == "functools.partial" && first) {
    Object made;
    made.shape = Shape::partial;
    Items items;
    for (const Argument& argument : given.positional) {
      items.keys.push_back({});
      items.values.push_back(argument.value);
    }
    for (const Argument& argument : given.keywords) {
      items.keys.push_back(text(std::string(names_.text(argument.name)), argument.key));
      items.values.push_back(argument.value);
    }
    made.items = keep(std::move(items));
    return object(std::move(made), where);
  }
  if (name == "os.path.join" || name == "posixpath.join") {
    std::string path;
    bool known = !given.positional.empty() && !given.open;
    for (const Argument& argument : given.positional) {
      if (!argument.value.is(Type::text)) {
        known = false;
        break;
      }
      const std::string& part = *argument.value.text;
      if (part.starts_with('/') || path.empty()) {
        path = part;
      } else {
        path += (path.ends_with('/') ? "" : "/") + part;
      }
    }
    return known ? text(std::move(path), where)
                 : mystery(Reason::machine, std::string(where.text().substr(0, 80)), where, true,
                           Hint::text);
  }
  if (name == "os.getcwd" || name == "os.path.abspath" || name == "os.path.dirname" ||
      name == "os.path.expanduser" || name == "os.path.realpath" || name == "os.path.basename" ||
      name == "os.path.expandvars") {
    return mystery(Reason::machine, name + "()", where, true, Hint::text);
  }
  if (name == "os.getenv" || name == "os.environ.get") {
    std::string label = "environment variable " + (first ? str(*first).value_or("") : "");
    const Val* fallback = given.get(1, names_.intern("default"));
    const bool sure = fallback && is_none(*fallback) == std::optional(false);
    return mystery(Reason::environment, std::move(label), where, sure,
                   sure && fallback->is(Type::text) ? Hint::text : Hint::none);
  }
  if (name == "sys.exit" || name == "os._exit") {
    raise("SystemExit", "", &node);
  }
  if (name == "pathlib.Path" || name == "os.fspath" || name == "pathlib.PurePath") {
    return mystery(Reason::machine, std::string(where.text().substr(0, 80)), where, true,
                   name == "os.fspath" ? Hint::text : Hint::object);
  }
  if (name == "collections.defaultdict" || name == "collections.Counter" ||
      name == "collections.deque") {
    return mystery(Reason::dynamic, name + "()", where, true, Hint::object);
  }
  if (name == "collections.OrderedDict") {
    return call_builtin("dict", given, node);
  }
  if (name == "math.ceil" || name == "math.floor") {
    if (first && first->is(Type::integer)) {
      return *first;
    }
    if (first && first->is(Type::real) && std::abs(first->real) < 9e15) {
      Val made;
      made.type = Type::integer;
      made.integer = static_cast<std::int64_t>(name == "math.ceil" ? std::ceil(first->real)
                                                                   : std::floor(first->real));
      made.where = where;
      return made;
    }
  }
  const std::size_t dot = name.rfind('.');
  const std::string_view last =
      std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
  const std::string_view package = std::string_view(name).substr(0, name.find('.'));
  if (last == "pretrain" || last == "finetune") {
    const Val* config = given.get(0, common_.config);
    config = config ? config : given.get(0, common_.cfg);
    if (on_train && config) {
      on_train(*config, where);
      return Val{};
    }
  }
  if (last == "process_config_with_overrides" && first) {
    return *first;  // overrides that are given belong to the command line
  }
  // Recipes and model files that are not at hand.
  if (last == "from_hf_pretrained" || last == "from_hf_config" || last == "from_pretrained") {
    std::string label(last);
    if (dot != std::string::npos) {
      const std::size_t before = name.rfind('.', dot - 1);
      label = name.substr(before == std::string::npos ? 0 : before + 1);
    }
    label += "(" + (first ? repr(*first).value_or("...") : std::string()) + ")";
    Val made = opaque(std::move(label), where);
    if (first && first->is(Type::text)) {
      made.object->model = *first->text;
    }
    return made;
  }
  if (package == "megatron" && is_recipe_name(name)) {
    if (given.positional.empty() && given.keywords.empty() && !given.open) {
      if (auto made = shipped(name, where)) {
        return made;
      }
    }
    Val made = opaque(name + "()", where);
    made.object->havoc = keep(Mystery{Reason::sourced, name + "()", where});
    for (const auto* list : {&given.positional, &given.keywords}) {
      for (const Argument& argument : *list) {
        havoc(argument.value, Reason::dynamic, "may be changed by " + name + "()", where);
      }
    }
    return made;
  }
  if (package == "torch" &&
      (name.find("cuda") != std::string::npos || name.find("distributed") != std::string::npos)) {
    return mystery(Reason::machine, name + "()", where, last.starts_with("is_"),
                   last.starts_with("is_") ? Hint::boolean : Hint::none);
  }
  if (std::find(std::begin(pure_modules), std::end(pure_modules), package) !=
      std::end(pure_modules)) {
    return unknown_call(name, given, node, true);
  }
  return std::nullopt;
}

}  // namespace shardlint::python
