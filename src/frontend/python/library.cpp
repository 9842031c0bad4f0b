#include <algorithm>
#include <cmath>

#include "frontend/python/eval.h"

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
