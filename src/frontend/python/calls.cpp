#include "frontend/python/eval.h"

namespace shardlint::python {

const Argument* Arguments::keyword(Name name) const {
  for (const Argument& argument : keywords) {
    if (argument.name == name) {
      return &argument;
    }
  }
  return nullptr;
}

const Val* Arguments::get(std::size_t at, Name name) const {
  if (at < positional.size()) {
    return &positional[at].value;
  }
  const Argument* found = name ? keyword(name) : nullptr;
  return found ? &found->value : nullptr;
}

Interpreter::Interpreter(ModuleTable& modules, Names& names, const Schema* schema)
    : modules_(modules), names_(names), schema_(schema) {
  const std::pair<Name*, const char*> table[] = {
      {&common_.self, "self"},
      {&common_.init, "__init__"},
      {&common_.post_init, "__post_init__"},
      {&common_.setattr, "__setattr__"},
      {&common_.getattr, "__getattr__"},
      {&common_.call, "__call__"},
      {&common_.all, "__all__"},
      {&common_.name_dunder, "__name__"},
      {&common_.file_dunder, "__file__"},
      {&common_.main, "__main__"},
      {&common_.value, "value"},
      {&common_.name, "name"},
      {&common_.dict, "__dict__"},
      {&common_.class_dunder, "__class__"},
      {&common_.dataclass_fields, "__dataclass_fields__"},
      {&common_.type_checking, "TYPE_CHECKING"},
      {&common_.cls, "cls"},
      {&common_.underscore, "_"},
      {&common_.doc, "__doc__"},
      {&common_.qualname, "__qualname__"},
      {&common_.module, "__module__"},
      {&common_.config, "config"},
      {&common_.cfg, "cfg"},
      {&common_.size_dunder, "__len__"}};
  for (const auto& [name, text] : table) {
    *name = names_.intern(text);
  }
}

void Interpreter::reset() {
  journal_.undo(0);
  passing_.clear();
  frame_ = nullptr;
  site_ = nullptr;
  steps_ = 0;
  all_steps_ = 0;
  depth_ = 0;
  outer_depth_ = 0;
  writes_ = 0;
}

Val Interpreter::call_entry(const Function& function) {
  steps_ = 0;
  all_steps_ = 0;
  Frame frame;
  Object scope;
  scope.shape = Shape::scope;
  scope.parent = function.scope;
  frame.scope = keep(std::move(scope));
  frame.module = function.module;
  frame.function = &function;
  frame_ = &frame;
  site_ = nullptr;
  bind_arguments(function, {}, *function.node, nullptr, frame, true);
  const Val result = run_function(function, frame);
  frame_ = nullptr;
  return result;
}

void Interpreter::run_script(Module& module) {
  steps_ = 0;
  all_steps_ = 0;
  Frame frame;
  frame.scope = module.globals;
  frame.module = &module;
  frame_ = &frame;
  site_ = nullptr;
  script_ = &module;
  if (module.syntax) {
    for (const Node* node : module.syntax->root()->kids) {
      module.ran[node] = Module::Ran::done;
    }
    try {
      run(*module.syntax->root());
    } catch (const Raise&) {
      // Whatever was handed over before it has been seen.
    }
  }
  frame_ = nullptr;
}

Arguments Interpreter::arguments(const Node& node) {
  Arguments made;
  for (std::size_t i = 1; i < node.kids.size(); ++i) {
    const Node& kid = *node.kids[i];
    if (kid.tag == Tag::keyword) {
      const Span key{&frame_->module->syntax->source(), kid.begin,
                     kid.begin + static_cast<std::uint32_t>(kid.text.size())};
      made.keywords.push_back({eval(kid.kids[0]), kid.name, key, span(*kid.kids[0])});
    } else if (kid.tag == Tag::star) {
      if (auto all = iterate(eval(kid.kids[0]))) {
        for (const Val& value : *all) {
          made.positional.push_back({value, 0, span(kid), span(kid)});
        }
      } else {
        made.open = true;
      }
    } else if (kid.tag == Tag::double_star) {
      const Val spread = eval(kid.kids[0]);
      if (spread.is(Type::object) && spread.object->shape == Shape::dict) {
        made.open = made.open || spread.object->havoc;
        const Items& items = *spread.object->items;
        for (std::size_t j = 0; j < items.keys.size(); ++j) {
          if (items.keys[j].is(Type::text)) {
            const Span key = items.keys[j].where ? items.keys[j].where : span(kid);
            const Span value = items.values[j].where ? items.values[j].where : span(kid);
            made.keywords.push_back(
                {items.values[j], names_.intern(*items.keys[j].text), key, value});
          }
        }
      } else {
        made.open = true;
      }
    } else {
      made.positional.push_back({eval(&kid), 0, span(kid), span(kid)});
    }
  }
  return made;
}

Val Interpreter::call(const Node& node) {
  const Node& callee = *node.kids[0];
  if (callee.tag == Tag::name && names_.text(callee.name) == "super" && frame_->function &&
      frame_->function->owner) {
    if (node.kids.size() == 1 || node.kids.size() == 3) {
      Object made;
      made.shape = Shape::super;
      made.cls = const_cast<Class*>(frame_->function->owner);
      Val self = frame_->self;
      if (node.kids.size() == 3) {
        const Val from = eval(node.kids[1]);
        made.cls = from.is(Type::cls) ? from.cls : made.cls;
        self = eval(node.kids[2]);
      }
      made.items = keep(Items{{}, {self}});
      return object(std::move(made), span(node));
    }
  }
  if (callee.tag == Tag::attribute) {
    // A method of an object whose class is not known.
    const Val receiver = eval(callee.kids[0]);
    return map_alternatives(receiver, [&](const Val& one) {
      const bool foreign =
          one.is(Type::unknown) || (one.is(Type::object) && one.object->shape == Shape::opaque &&
                                    !one.object->find(callee.name));
      if (foreign) {
        const Arguments given = arguments(node);
        return call_method(one, callee.name, given, node);
      }
      const Val function = attribute(one, callee.name, &callee);
      const Arguments given = arguments(node);
      return call(function, given, node);
    });
  }
  const Val function = eval(&callee);
  const Arguments given = arguments(node);
  return call(function, given, node);
}

Val Interpreter::call(const Val& callee, const Arguments& given, const Node& node) {
  switch (callee.type) {
    case Type::function:
      return call_function(*callee.function, given, node, nullptr);
    case Type::bound:
      if (callee.bound->function) {
        return call_function(*callee.bound->function, given, node, &callee.bound->self);
      }
      return call_method(callee.bound->self, callee.bound->method, given, node);
    case Type::cls:
      return instantiate(*callee.cls, given, node);
    case Type::external:
      return call_external(*callee.text, given, node);
    case Type::object:
      if (callee.object->shape == Shape::partial) {
        Arguments all;
        const Items& items = *callee.object->items;
        for (std::size_t i = 1; i < items.values.size(); ++i) {
          if (items.keys[i].is(Type::text)) {
            const Name name = names_.intern(*items.keys[i].text);
            if (!given.keyword(name)) {
              all.keywords.push_back({items.values[i], name, {}, items.values[i].where});
            }
          } else {
            all.positional.push_back({items.values[i], 0, {}, items.values[i].where});
          }
        }
        all.positional.insert(all.positional.end(), given.positional.begin(),
                              given.positional.end());
        all.keywords.insert(all.keywords.end(), given.keywords.begin(), given.keywords.end());
        all.open = given.open;
        return call(items.values[0], all, node);
      }
      if (callee.object->shape == Shape::instance) {
        if (const Function* caller = method(*callee.object->cls, common_.call)) {
          return call_function(*caller, given, node, &callee);
        }
      }
      return unknown_call(callee.object->label.empty() ? "an object" : callee.object->label, given,
                          node, false);
    case Type::alternatives:
      return map_alternatives(callee, [&](const Val& one) { return call(one, given, node); });
    case Type::none:
    case Type::boolean:
    case Type::integer:
    case Type::real:
    case Type::text:
      raise("TypeError", "not callable", &node);
    case Type::module:
    case Type::unknown:
      break;
  }
  return unknown_call(std::string(span(*node.kids[0]).text().substr(0, 60)), given, node, false);
}

// A call of code that is not evaluated. Unless it is known to be pure it may change every object
// that it is given.
Val Interpreter::unknown_call(const std::string& what, const Arguments& given, const Node& node,
                              bool pure) {
  if (!pure) {
    for (const auto* list : {&given.positional, &given.keywords}) {
      for (const Argument& argument : *list) {
        havoc(argument.value, Reason::dynamic, "may be changed by " + what + "()", span(node));
      }
    }
  }
  return opaque(what + "()", span(node));
}

// Functions that are at hand but build their result from a model's files.
std::optional<Val> Interpreter::known_opaque(const Function& function, const Arguments& given,
                                             const Node& node) {
  static constexpr std::string_view makers[] = {"from_hf_pretrained", "from_hf_config",
                                                "from_pretrained", "from_auto_config",
                                                "load_hf_weights"};
  const std::string_view name = names_.text(function.name);
  for (std::string_view maker : makers) {
    if (name != maker) {
      continue;
    }
    const Val* source = given.get(0);
    std::string label = function.owner ? std::string(names_.text(function.owner->name)) + "." : "";
    label += std::string(name) + "(" + (source ? repr(*source).value_or("...") : "") + ")";
    Val made = opaque(std::move(label), span(node));
    if (source && source->is(Type::text)) {
      made.object->model = *source->text;
    }
    return made;
  }
  return std::nullopt;
}

Val Interpreter::call_function(const Function& function, const Arguments& given, const Node& node,
                               const Val* self) {
  const std::string name(names_.text(function.name));
  if (auto known = known_opaque(function, given, node)) {
    return *known;
  }
  if (on_train && (name == "pretrain" || name == "finetune")) {
    const Val* config = given.get(0, common_.config);
    if (!config) {
      config = given.get(0, common_.cfg);
    }
    if (config) {
      on_train(*config, span(node));
      return Val{};
    }
  }
  const bool lambda = function.node->tag == Tag::lambda;
  if (deep(limits_.depth) || function.unknown_decorator || (!lambda && function.node->level == 1)) {
    if (self) {
      havoc(*self, Reason::dynamic, "may be changed by " + name + "()", span(node));
    }
    return unknown_call(name, given, node, false);
  }
  Frame frame;
  Object scope;
  scope.shape = Shape::scope;
  scope.parent = function.scope;
  frame.scope = keep(std::move(scope));
  frame.module = function.module;
  frame.function = &function;
  frame.outer = frame_;
  const CallSite* outer_site = site_;
  const CallSite* inner_site = keep(CallSite{span(node), names_.text(function.name), site_});
  const Val* bound_self = self && !function.is_static ? self : nullptr;
  Frame* caller = frame_;
  ++depth_;
  struct Back {
    Interpreter& i;
    Frame* caller;
    const CallSite* site;
    ~Back() {
      i.frame_ = caller;
      i.site_ = site;
      --i.depth_;
    }
  } back{*this, caller, outer_site};
  site_ = inner_site;
  frame_ = &frame;
  bind_arguments(function, given, node, bound_self, frame, false);
  return run_function(function, frame);
}

void Interpreter::bind_arguments(const Function& function, const Arguments& given, const Node& node,
                                 const Val* self, Frame& frame, bool entry) {
  const Node& parameters = *function.node->kids[0];
  std::vector<Argument> positional;
  if (self) {
    positional.push_back({*self, 0, {}, {}});
    frame.self = *self;
  }
  positional.insert(positional.end(), given.positional.begin(), given.positional.end());
  std::vector<bool> used(given.keywords.size(), false);
  std::size_t next = 0;
  bool keyword_only = false;
  const auto put = [&](Name name, const Val& value) {
    SlotValue cell;
    cell.cell = {value, nullptr, true};
    journal_.set({frame.scope, Part::field, name}, cell);
  };
  const Node* rest = nullptr;
  for (const Node* parameter : parameters.kids) {
    if (parameter->op == Op::marker_positional) {
      continue;
    }
    if (parameter->op == Op::marker_keyword) {
      keyword_only = true;
      continue;
    }
    if (parameter->op == Op::star) {
      keyword_only = true;
      std::vector<Val> extra;
      for (; next < positional.size(); ++next) {
        extra.push_back(positional[next].value);
      }
      Val all = sequence(Shape::tuple, std::move(extra), span(*parameter));
      if (given.open && all.is(Type::object)) {
        all.object->havoc = keep(Mystery{Reason::argument, "*arguments", {}, true, Hint::object});
      }
      put(parameter->name, all);
      continue;
    }
    if (parameter->op == Op::double_star) {
      rest = parameter;
      continue;
    }
    std::optional<Val> value;
    if (!keyword_only && next < positional.size()) {
      value = positional[next++].value;
    } else {
      for (std::size_t i = 0; i < given.keywords.size(); ++i) {
        if (given.keywords[i].name == parameter->name) {
          value = given.keywords[i].value;
          used[i] = true;
        }
      }
    }
    if (!value && given.open) {
      value =
          mystery(Reason::argument, std::string(names_.text(parameter->name)), span(*parameter));
    }
    if (!value && parameter->kids[0]) {
      // Evaluated where the function was defined.
      Frame outside;
      outside.scope = function.scope ? function.scope : function.module->globals;
      outside.module = function.module;
      outside.class_body = const_cast<Class*>(function.owner);
      outside.outer = frame_;
      Frame* here = frame_;
      frame_ = &outside;
      try {
        value = eval(parameter->kids[0]);
      } catch (...) {
        frame_ = here;
        throw;
      }
      frame_ = here;
    }
    if (!value && entry) {
      value = mystery(Reason::argument,
                      "parameter " + std::string(names_.text(parameter->name)) + " of " +
                          std::string(names_.text(function.name)) + "()",
                      span(*parameter));
    }
    if (!value) {
      raise("TypeError",
            "missing argument " + std::string(names_.text(parameter->name)) + " of " +
                std::string(names_.text(function.name)) + "()",
            &node);
    }
    if (self == nullptr && frame.self.is(Type::none) && next == 1 && function.owner &&
        !function.is_static) {
      frame.self = *value;  // Class.method(object)
    }
    put(parameter->name, *value);
  }
  if (next < positional.size()) {
    raise("TypeError", "too many arguments for " + std::string(names_.text(function.name)) + "()",
          &node);
  }
  std::vector<Val> keys, values;
  for (std::size_t i = 0; i < given.keywords.size(); ++i) {
    if (used[i]) {
      continue;
    }
    if (!rest) {
      raise("TypeError",
            std::string(names_.text(function.name)) + "() has no parameter " +
                std::string(names_.text(given.keywords[i].name)),
            &node);
    }
    keys.push_back(text(std::string(names_.text(given.keywords[i].name)), given.keywords[i].key));
    values.push_back(given.keywords[i].value);
  }
  if (rest) {
    Val all = dict(std::move(keys), std::move(values), span(*rest));
    if (given.open) {
      all.object->havoc = keep(Mystery{Reason::argument, "**arguments", {}, true, Hint::object});
    }
    put(rest->name, all);
  }
}

Val Interpreter::run_function(const Function& function, Frame& frame) {
  if (function.node->tag == Tag::lambda) {
    return eval(function.node->kids[1]);
  }
  bool alive = true;
  try {
    const Flow flow = run(*function.node->kids[1]);
    if (flow != Flow::returned) {
      frame.result = Val{};
    }
  } catch (const Raise&) {
    alive = false;
    if (frame.returns.empty()) {
      throw;
    }
  }
  Val result = frame.result;
  settle(frame.returns, alive, &result);
  return result;
}

}  // namespace shardlint::python
