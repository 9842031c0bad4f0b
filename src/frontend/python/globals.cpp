// Names outside of functions: modules, what they import, builtins.
#include "frontend/python/eval.h"

namespace shardlint::python {

namespace {

constexpr std::string_view builtin_names[] = {
    "abs",        "all",        "any",         "bool",
    "bytes",      "callable",   "classmethod", "delattr",
    "dict",       "dir",        "divmod",      "enumerate",
    "exit",       "filter",     "float",       "format",
    "frozenset",  "getattr",    "globals",     "hasattr",
    "hash",       "id",         "input",       "int",
    "isinstance", "issubclass", "iter",        "len",
    "list",       "locals",     "map",         "max",
    "min",        "next",       "object",      "open",
    "pow",        "print",      "property",    "range",
    "repr",       "reversed",   "round",       "set",
    "setattr",    "slice",      "sorted",      "staticmethod",
    "str",        "sum",        "super",       "tuple",
    "type",       "vars",       "zip",         "NotImplemented",
    "Ellipsis",   "__import__", "eval",        "exec",
    "compile",    "complex",    "ord",         "chr",
    "hex",        "oct",        "bin",         "quit",
    "memoryview", "bytearray",  "aiter",       "anext",
    "ascii",      "breakpoint", "help"};

}  // namespace

Val Interpreter::global(Module& module, Name name) {
  if (const Field* field = module.globals->find(name)) {
    return field->cell.value;
  }
  if (auto touched = module.touched_by.find(name); touched != module.touched_by.end()) {
    ++depth_;
    struct Back {
      int& depth;
      ~Back() { --depth; }
    } back{depth_};
    Permanent permanent(*this);
    Frame frame;
    frame.scope = module.globals;
    frame.module = &module;
    frame.outer = nullptr;
    frame_ = &frame;
    if (deep(limits_.depth + 40)) {
      return mystery(Reason::limit, "modules that import each other too deeply", {});
    }
    for (const Node* statement_node : touched->second) {
      if (statement_node->tag == Tag::import) {
        import_statement(*statement_node, name);
        continue;
      }
      if (statement_node->tag == Tag::import_from) {
        import_from(*statement_node, name);
        continue;
      }
      Module::Ran& ran = module.ran[statement_node];  // stays in place while others are added
      if (ran != Module::Ran::not_yet) {
        modules_.order_matters = modules_.order_matters || ran == Module::Ran::running;
        continue;
      }
      ran = Module::Ran::running;
      try {
        statement(*statement_node);
      } catch (const Raise&) {
        // Importing the module would fail here; the names before this one are what there is.
      }
      ran = Module::Ran::done;
    }
    if (const Field* field = module.globals->find(name)) {
      return field->cell.value;
    }
  }
  const std::string_view text_name = names_.text(name);
  if (!text_name.starts_with("_")) {
    for (const Node* star : module.star_imports) {
      const std::string from = modules_.absolute(module, star->level, star->text);
      Module* other = modules_.find(from);
      if (!other || other == &module || !other->syntax) {
        continue;
      }
      if (deep(limits_.depth + 40)) {
        break;
      }
      ++depth_;
      std::optional<Val> found;
      try {
        found = global(*other, name);
      } catch (const Raise&) {
      }
      --depth_;
      if (found && !(found->is(Type::external) && found->text->starts_with("builtins."))) {
        return *found;
      }
    }
  }
  if (name == common_.name_dunder) {
    return text(&module == script_ ? "__main__" : module.name);
  }
  if (name == common_.file_dunder) {
    return mystery(Reason::machine, "__file__", {}, true, Hint::text);
  }
  for (std::string_view builtin : builtin_names) {
    if (builtin == text_name) {
      return external("builtins." + std::string(text_name));
    }
  }
  if (text_name.ends_with("Error") || text_name.ends_with("Exception") ||
      text_name.ends_with("Warning") || text_name == "KeyboardInterrupt" ||
      text_name == "SystemExit" || text_name == "StopIteration") {
    return external("builtins." + std::string(text_name));
  }
  if (!module.star_imports.empty()) {
    return mystery(Reason::sourced, std::string(text_name) + ", from an import of everything", {});
  }
  if (module.touched_by.count(name) != 0) {
    return mystery(Reason::dynamic, std::string(text_name) + ", in a circle of imports", {});
  }
  raise("NameError", "name " + std::string(text_name) + " is not defined");
}

Val Interpreter::external_attribute(const std::string& name) {
  if (Module* module = modules_.find(name)) {
    Val made;
    made.type = Type::module;
    made.module = module;
    return made;
  }
  if (Class* cls = catalogued(name)) {
    Val made;
    made.type = Type::cls;
    made.cls = cls;
    return made;
  }
  return external(name);
}

Val Interpreter::module_attribute(Module& module, Name name, bool throws) {
  if (module.globals->find(name) || module.touched_by.count(name) != 0) {
    const Val value = global(module, name);
    if (!(value.is(Type::unknown) && value.mystery->detail.ends_with("circle of imports"))) {
      return value;
    }
  }
  const std::string qualified = module.name + "." + std::string(names_.text(name));
  if (Module* sub = modules_.find(qualified)) {
    Val made;
    made.type = Type::module;
    made.module = sub;
    return made;
  }
  if (module.syntax) {
    if (!module.star_imports.empty()) {
      try {
        const Val value = global(module, name);
        if (!value.is(Type::external) || !value.text->starts_with("builtins.")) {
          return value;
        }
      } catch (const Raise&) {
      }
    }
    if (module.touched_by.count(common_.getattr) != 0) {  // a package that imports lazily
      const Val getter = global(module, common_.getattr);
      if (getter.is(Type::function)) {
        Permanent permanent(*this);
        Frame frame;
        frame.scope = module.globals;
        frame.module = &module;
        frame_ = &frame;
        Arguments given;
        given.positional.push_back({text(std::string(names_.text(name))), 0, {}, {}});
        try {
          return call_function(*getter.function, given, *getter.function->node, nullptr);
        } catch (const Raise&) {
        }
      }
    }
    if (throws) {
      raise("AttributeError", module.name + " has no " + std::string(names_.text(name)));
    }
  }
  return external_attribute(qualified);
}

}  // namespace shardlint::python
