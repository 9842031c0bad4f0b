// Functions, classes and imports, as the statements that define names.
#include "frontend/python/eval.h"

namespace shardlint::python {

void Interpreter::define_function(const Node& node) {
  Function function;
  function.node = &node;
  function.module = frame_->module;
  function.scope = frame_->scope == frame_->module->globals ? nullptr : frame_->scope;
  function.name = node.name;
  Val value;
  value.type = Type::function;
  value.where = span(node);
  std::vector<Val> wrappers;
  for (std::size_t i = 2; i < node.kids.size(); ++i) {
    const Node* decorator = node.kids[i];
    const std::string_view text = span(*decorator).text();
    static constexpr std::string_view harmless[] = {
        "functools.lru_cache", "lru_cache",  "cache",           "functools.cache",
        "torch.no_grad",       "deprecated", "override",        "typing.override",
        "abstractmethod",      "overload",   "run.cli.factory", "torch.inference_mode",
        "functools.wraps",     "wraps"};
    bool known = false;
    for (std::string_view name : harmless) {
      known = known || text == name || text.starts_with(std::string(name) + "(");
    }
    if (known) {
      continue;
    }
    const Val wrapper = eval(decorator);
    if (wrapper.is(Type::function)) {
      wrappers.push_back(wrapper);
    } else {
      function.unknown_decorator = true;
    }
  }
  value.function = keep(function);
  for (auto wrapper = wrappers.rbegin(); wrapper != wrappers.rend(); ++wrapper) {
    Arguments given;
    given.positional.push_back({value, 0, {}, span(node)});
    value = call_function(*wrapper->function, given, node, nullptr);
  }
  bind(node.name, value);
}

void Interpreter::define_class(const Node& node) {
  Val value;
  value.type = Type::cls;
  value.where = span(node);
  value.cls = class_of(node, frame_->scope == frame_->module->globals ? nullptr : frame_->scope);
  bind(node.name, value);
}

void Interpreter::import_statement(const Node& node, Name only) {
  for (const Node* alias : node.kids) {
    const Name bound =
        alias->name ? alias->name : names_.intern(alias->text.substr(0, alias->text.find('.')));
    if (only && bound != only) {
      continue;
    }
    const std::string name = alias->name
                                 ? std::string(alias->text)
                                 : std::string(alias->text.substr(0, alias->text.find('.')));
    Val value;
    if (Module* module = modules_.find(name)) {
      value.type = Type::module;
      value.module = module;
    } else {
      value = external(name);
    }
    value.where = span(*alias);
    bind(bound, value);
  }
}

void Interpreter::import_from(const Node& node, Name only) {
  const std::string from = modules_.absolute(*frame_->module, node.level, node.text);
  Module* module = modules_.find(from);
  for (const Node* alias : node.kids) {
    if (alias->text == "*") {
      if (module && module->syntax && frame_->scope != frame_->module->globals) {
        continue;  // not allowed inside a function
      }
      continue;  // looked up when a name is not found otherwise
    }
    if (only && alias->name != only) {
      continue;
    }
    Val value = module ? module_attribute(*module, names_.intern(alias->text), false)
                       : external_attribute(from + "." + std::string(alias->text));
    bind(alias->name, value);
  }
}

}  // namespace shardlint::python
