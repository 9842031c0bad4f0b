#include <algorithm>

#include "base/strings.h"
#include "frontend/python/eval.h"

namespace shardlint::python {

Val Interpreter::attribute(const Val& value, Name name, const Node* node) {
  if (value.is(Type::alternatives)) {
    // Those that have no such attribute would raise: they are not what is met here.
    std::vector<std::function<Val()>> ways;
    for (const Val& one : value.any->values) {
      ways.push_back([this, one, name, node] { return attribute(one, name, node); });
    }
    return fork(ways);
  }
  if (auto found = try_attribute(value, name, node)) {
    return *found;
  }
  raise("AttributeError", "no attribute " + std::string(names_.text(name)), node);
}

std::optional<Val> Interpreter::peek(const Val& value, Name name) {
  if (value.is(Type::alternatives)) {
    std::optional<Val> all;
    for (const Val& one : value.any->values) {
      if (auto found = peek(one, name)) {
        all = all ? join(*all, *found) : *found;
      }
    }
    return all;
  }
  if (!value.is(Type::object)) {
    return std::nullopt;
  }
  if (const Field* field = value.object->find(name)) {
    return field->cell.value;
  }
  if (value.object->havoc) {
    const Mystery& why = *value.object->havoc;
    return mystery(why.reason, why.detail, why.where, why.not_null);
  }
  return default_of(*value.object, name);
}

std::optional<Val> Interpreter::try_attribute(const Val& value, Name name, const Node* node) {
  const Span where = node && frame_ ? span(*node) : Span{};
  const std::string_view text_name = names_.text(name);
  switch (value.type) {
    case Type::none:
      return std::nullopt;
    case Type::module:
      return module_attribute(*value.module, name, true);
    case Type::external: {
      Val found = external_attribute(*value.text + "." + std::string(text_name));
      return found;
    }
    case Type::cls: {
      Class& cls = *value.cls;
      if (name == names_.intern("__name__") || name == common_.qualname) {
        return text(std::string(names_.text(cls.name)), where);
      }
      if (name == common_.module) {
        return text(
            cls.module ? cls.module->name : cls.qualified.substr(0, cls.qualified.rfind('.')),
            where);
      }
      if (name == common_.dataclass_fields) {
        std::vector<Val> keys, values;
        if (Class* maker = dataclass_of(cls)) {
          for (const FieldInfo& field : fields(*maker)) {
            keys.push_back(text(std::string(names_.text(field.name))));
            values.push_back(mystery(Reason::dynamic, "a dataclass field", {}, true, Hint::object));
          }
        }
        return dict(std::move(keys), std::move(values), where);
      }
      for (Class* one : cls.order) {
        if (one->attributes.count(name) != 0) {
          return class_attribute(cls, name);
        }
        if (auto found = one->methods.find(name); found != one->methods.end()) {
          Val made;
          if (found->second->is_classmethod) {
            made.type = Type::bound;
            made.bound = keep(Bound{value, found->second, name});
          } else {
            made.type = Type::function;
            made.function = found->second;
          }
          return made;
        }
        if (one->is_dataclass && name == common_.init) {
          Val made;
          made.type = Type::bound;
          made.bound = keep(Bound{value, nullptr, name});
          return made;
        }
      }
      if (cls.info || !cls.complete || name == common_.init || name == common_.post_init) {
        return external(cls.qualified + "." + std::string(text_name));
      }
      return std::nullopt;
    }
    case Type::function:
      if (text_name == "__name__" || name == common_.qualname) {
        return text(std::string(names_.text(value.function->name)), where);
      }
      if (name == common_.module) {
        return text(value.function->module->name, where);
      }
      return mystery(Reason::dynamic, std::string(text_name), where);
    case Type::bound:
    case Type::unknown:
      return mystery(value.is(Type::unknown) ? value.mystery->reason : Reason::dynamic,
                     (value.is(Type::unknown) ? value.mystery->detail + "." : std::string()) +
                         std::string(text_name),
                     where);
    case Type::boolean:
    case Type::integer:
    case Type::real:
    case Type::text: {
      Val made;
      made.type = Type::bound;
      made.bound = keep(Bound{value, nullptr, name});
      return made;
    }
    case Type::object:
      break;
    case Type::alternatives:
      return std::nullopt;
  }
  Object& object = *value.object;
  if (const Field* field = object.find(name)) {
    return field->cell.value;
  }
  const auto builtin_method = [&] {
    Val made;
    made.type = Type::bound;
    made.bound = keep(Bound{value, nullptr, name});
    return made;
  };
  switch (object.shape) {
    case Shape::list:
    case Shape::tuple:
    case Shape::set:
    case Shape::dict:
    case Shape::partial:
      return builtin_method();
    case Shape::super:
      return super_attribute(object, name, node);
    case Shape::member:
      if (auto found = method(*object.cls, name)) {
        Val made;
        made.type = Type::bound;
        made.bound = keep(Bound{value, found, name});
        return found->is_property ? call_function(*found, {}, *found->node, &value) : made;
      }
      return mystery(Reason::dynamic, object.label + "." + std::string(text_name), where);
    case Shape::scope:
      return std::nullopt;
    case Shape::opaque: {
      // A configuration always has these; what is set on them must not be lost.
      static constexpr std::string_view sections[] = {"model",
                                                      "train",
                                                      "validation",
                                                      "optimizer",
                                                      "scheduler",
                                                      "ddp",
                                                      "dist",
                                                      "dataset",
                                                      "logger",
                                                      "tokenizer",
                                                      "checkpoint",
                                                      "rng",
                                                      "rerun_state_machine"};
      if (object.havoc->reason == Reason::sourced && object.label.ends_with("()") &&
          is_recipe_name(std::string_view(object.label).substr(0, object.label.size() - 2)) &&
          std::find(std::begin(sections), std::end(sections), text_name) != std::end(sections)) {
        return part_of(value, name, where);
      }
      // Read as a value it is unknown; called, the label says of what.
      if (object.havoc->reason == Reason::opaque) {
        return mystery(Reason::opaque, object.label + "." + std::string(text_name), where);
      }
      return mystery(object.havoc->reason, object.havoc->detail, object.havoc->where);
    }
    case Shape::instance:
      break;
  }
  Class& cls = *object.cls;
  if (name == common_.class_dunder) {
    Val made;
    made.type = Type::cls;
    made.cls = &cls;
    return made;
  }
  if (name == common_.dataclass_fields) {
    Val made;
    made.type = Type::cls;
    made.cls = &cls;
    return try_attribute(made, name, node);
  }
  if (name == common_.dict) {
    havoc(value, Reason::dynamic, "reached through __dict__", where);
    return mystery(Reason::dynamic, "__dict__", where, true, Hint::object);
  }
  if (const Function* found = method(cls, name)) {
    if (found->is_property) {
      return call_function(*found, {}, node ? *node : *found->node, &value);
    }
    Val made;
    if (found->is_static) {
      made.type = Type::function;
      made.function = found;
    } else {
      Val self = value;
      if (found->is_classmethod) {
        self = Val{};
        self.type = Type::cls;
        self.cls = &cls;
      }
      made.type = Type::bound;
      made.bound = keep(Bound{self, found, name});
    }
    return made;
  }
  if (object.havoc) {
    if (object.havoc->reason == Reason::opaque || object.havoc->reason == Reason::sourced ||
        cls.info || !cls.complete) {
      const bool known = dataclass_of(cls) && (fields(*dataclass_of(cls)),
                                               dataclass_of(cls)->field_index.count(name) != 0);
      if (!known || object.havoc->reason != Reason::sourced) {
        return mystery(object.havoc->reason, object.havoc->detail, object.havoc->where);
      }
    } else {
      return mystery(object.havoc->reason, object.havoc->detail, object.havoc->where);
    }
  }
  if (Class* maker = dataclass_of(cls)) {
    fields(*maker);
    if (auto found = maker->field_index.find(name); found != maker->field_index.end()) {
      FieldInfo& field = maker->all_fields[found->second];
      if (field.kind == DefaultKind::constant) {
        return field_default(field, false);
      }
    }
  }
  if (auto found = class_attribute(cls, name)) {
    return found;
  }
  if (cls.custom_getattr) {
    const Function* getter = method(cls, common_.getattr);
    Arguments given;
    given.positional.push_back({text(std::string(text_name)), 0, {}, where});
    return call_function(*getter, given, node ? *node : *getter->node, &value);
  }
  if (cls.info) {
    for (const Class* one : cls.order) {
      if (!one->node) {
        // Methods of catalogued classes are not known.
        Val made;
        made.type = Type::bound;
        made.bound = keep(Bound{value, nullptr, name});
        return made;
      }
    }
  }
  if (!cls.complete) {
    return mystery(Reason::sourced, cls.qualified + "." + std::string(text_name), where);
  }
  return std::nullopt;
}

Val Interpreter::super_attribute(const Object& super, Name name, const Node* node) {
  const Val self = super.items->values[0];
  const Class* actual = super.cls;
  if (self.is(Type::object) && self.object->cls) {
    actual = self.object->cls;
  } else if (self.is(Type::cls)) {
    actual = self.cls;
  }
  if (const Function* found = method(*actual, name, super.cls)) {
    Val made;
    if (found->is_property) {
      return call_function(*found, {}, node ? *node : *found->node, &self);
    }
    made.type = Type::bound;
    made.bound = keep(Bound{self, found, name});
    return made;
  }
  if (name == common_.post_init && actual->complete) {
    raise("AttributeError", "no __post_init__ above", node);
  }
  // object's own methods, or those of a base that is not known.
  Val made;
  made.type = Type::bound;
  made.bound = keep(Bound{self, nullptr, name});
  return made;
}

std::optional<bool> Interpreter::has_attribute(const Val& value, Name name) {
  if (value.is(Type::alternatives)) {
    std::optional<bool> all;
    for (const Val& one : value.any->values) {
      const std::optional<bool> decided = has_attribute(one, name);
      if (!decided || (all && *all != *decided)) {
        return std::nullopt;
      }
      all = decided;
    }
    return all;
  }
  if (value.is(Type::unknown) || value.is(Type::external)) {
    return std::nullopt;
  }
  if (value.is(Type::object) && value.object->shape == Shape::opaque) {
    return value.object->find(name) ? std::optional(true) : std::nullopt;
  }
  if (value.is(Type::object) && value.object->shape == Shape::instance) {
    if (value.object->find(name)) {
      return true;
    }
    Class& cls = *value.object->cls;
    if (Class* maker = dataclass_of(cls)) {
      fields(*maker);
      if (maker->field_index.count(name) != 0) {
        return true;
      }
    }
    if (method(cls, name) || class_attribute(cls, name)) {
      return true;
    }
    if (cls.custom_getattr) {
      try {
        const Function* getter = method(cls, common_.getattr);
        Arguments given;
        given.positional.push_back({text(std::string(names_.text(name))), 0, {}, {}});
        call_function(*getter, given, *getter->node, &value);
        return true;
      } catch (const Raise&) {
        return value.object->havoc ? std::nullopt : std::optional(false);
      }
    }
    if (value.object->havoc || !cls.complete || cls.info) {
      return std::nullopt;
    }
    return false;
  }
  if (value.is(Type::none)) {
    return false;
  }
  if (value.is(Type::object) || value.is_scalar()) {
    return std::nullopt;
  }
  try {
    return try_attribute(value, name, nullptr).has_value();
  } catch (const Raise&) {
    return false;
  }
}

void Interpreter::set_field(Object& object, Name name, const Val& value, const Span& key,
                            const Span& value_span, std::string_view note) {
  const Field* old = object.find(name);
  SlotValue cell;
  cell.cell.present = true;
  cell.cell.value = value;
  Write write;
  write.value = value;
  write.key = key;
  write.value_span = value_span;
  write.via = site_;
  write.before = old ? old->cell.write : nullptr;
  write.note = note;
  write.order = permanent_ > 0 ? 0 : ++writes_;
  cell.cell.write = keep(std::move(write));
  journal_.set({&object, Part::field, name}, cell);
}

void Interpreter::set_items(Object& object, Items items) {
  if (items.values.size() > limits_.items) {
    SlotValue state;
    state.havoc = keep(Mystery{Reason::limit, "more than 4096 elements", {}, true, Hint::object});
    journal_.set({&object, Part::havoc, 0}, state);
    return;
  }
  SlotValue value;
  value.items = keep(std::move(items));
  journal_.set({&object, Part::items, 0}, value);
}

void Interpreter::set_attribute(const Val& target, Name name, const Val& value, const Span& key,
                                const Span& value_span, const Node* node) {
  switch (target.type) {
    case Type::alternatives: {
      // An object that is None here would raise; of several objects each may be the one.
      std::vector<Val> objects;
      for (const Val& one : target.any->values) {
        if (one.is(Type::object)) {
          objects.push_back(one);
        }
      }
      const bool sure =
          objects.size() == 1 && std::none_of(target.any->values.begin(), target.any->values.end(),
                                              [](const Val& one) { return one.is(Type::unknown); });
      for (const Val& one : objects) {
        if (sure) {
          set_attribute(one, name, value, key, value_span, node);
        } else {
          fork({[&] { return Val{}; },
                [&] {
                  set_attribute(one, name, value, key, value_span, node);
                  return Val{};
                }});
        }
      }
      return;
    }
    case Type::none:
      raise("AttributeError",
            "'NoneType' object has no attribute " + std::string(names_.text(name)), node);
    case Type::module: {
      SlotValue cell;
      cell.cell = {value, nullptr, true};
      journal_.set({target.module->globals, Part::field, name}, cell);
      return;
    }
    case Type::cls:
      target.cls->attribute_values[name] =
          mystery(Reason::dynamic, "a class attribute that is changed", key);
      return;
    case Type::object:
      break;
    default:
      return;  // nobody whom we track
  }
  Object& object = *target.object;
  if (object.shape == Shape::instance && object.cls->custom_setattr) {
    const Function* setter = method(*object.cls, common_.setattr);
    Arguments given;
    given.positional.push_back({text(std::string(names_.text(name)), key), 0, key, key});
    given.positional.push_back({value, 0, value_span, value_span});
    // What the setter stores was written here, not there.
    const std::optional<Assigning> outer = assigning_;
    if (!assigning_) {
      assigning_ = Assigning{name, key, value_span, site_};
    }
    try {
      call_function(*setter, given, node ? *node : *setter->node, &target);
    } catch (...) {
      assigning_ = outer;
      throw;
    }
    assigning_ = outer;
    return;
  }
  if (object.shape == Shape::instance) {
    const Function* found = method(*object.cls, name);
    if (found && found->is_property) {
      havoc(target, Reason::dynamic, "set through a property", key);
      return;
    }
  }
  set_field(object, name, value, key, value_span);
}

}  // namespace shardlint::python
