// The fields of dataclasses, their defaults, and attributes of classes.
#include <algorithm>

#include "frontend/python/classes.h"
#include "frontend/python/eval.h"

namespace shardlint::python {

// The class whose generated constructor an instance of `cls` gets, or null.
Class* Interpreter::dataclass_of(Class& cls) {
  for (Class* one : cls.order) {
    if (one->is_dataclass) {
      return one;
    }
  }
  return nullptr;
}

const std::vector<FieldInfo>& Interpreter::fields(Class& cls) {
  if (cls.fields_done) {
    return cls.all_fields;
  }
  cls.fields_done = true;
  std::vector<FieldInfo> all;
  if (cls.info) {
    all = cls.own_fields;
  }
  for (auto one = cls.order.rbegin(); one != cls.order.rend() && !cls.info; ++one) {
    if (!(*one)->is_dataclass) {
      continue;
    }
    for (FieldInfo field : (*one)->own_fields) {
      if (field.expression && field.kind == DefaultKind::constant &&
          field.expression->tag == Tag::call) {
        // field(default=..., default_factory=..., init=...)
        const Node& call = *field.expression;
        const std::string_view callee = field.owner->module->syntax->span(*call.kids[0]).text();
        if (callee == "field" || callee == "dataclasses.field") {
          field.kind = DefaultKind::required;
          field.expression = nullptr;
          for (std::size_t i = 1; i < call.kids.size(); ++i) {
            const Node& keyword = *call.kids[i];
            if (keyword.tag != Tag::keyword) {
              continue;
            }
            const std::string_view name = keyword.text;
            const Node* value = keyword.kids[0];
            if (name == "default") {
              field.kind = DefaultKind::constant;
              field.expression = value;
            } else if (name == "default_factory") {
              field.kind = DefaultKind::factory;
              field.expression = value;
            } else if (value->tag == Tag::constant && value->value->if_bool()) {
              if (name == "init") {
                field.init = *value->value->if_bool();
              } else if (name == "kw_only") {
                field.kw_only = *value->value->if_bool();
              }
            }
          }
        }
      }
      const auto known = std::find_if(
          all.begin(), all.end(), [&](const FieldInfo& other) { return other.name == field.name; });
      if (known != all.end()) {
        *known = field;
      } else {
        all.push_back(field);
      }
    }
  }
  // A class attribute of a subclass that is no field still replaces what reading gives; that is
  // found by class_attribute().
  cls.all_fields = std::move(all);
  for (std::size_t i = 0; i < cls.all_fields.size(); ++i) {
    cls.field_index[cls.all_fields[i].name] = i;
  }
  return cls.all_fields;
}

// `fresh`: a factory makes a new object; otherwise only constants are answered.
Val Interpreter::field_default(FieldInfo& field, bool fresh, const Node* node) {
  if (field.kind == DefaultKind::required || field.kind == DefaultKind::unknown) {
    return mystery(Reason::dynamic,
                   "default of " + std::string(names_.text(field.name)) + ", which is computed",
                   {});
  }
  if (field.cached && field.kind == DefaultKind::constant) {
    return field.value;
  }
  if (field.builds) {
    return node && fresh ? instantiate(*field.builds, {}, *node)
                         : mystery(Reason::dynamic, "a default that is built", {});
  }
  if (field.cached) {  // from the catalogue: a list or mapping of its own for each instance
    std::map<const Object*, Object*> copied;
    return copy(field.value, true, copied);
  }
  Frame frame;
  frame.scope = field.owner->scope ? field.owner->scope : field.owner->module->globals;
  frame.module = field.owner->module;
  frame.class_body = field.owner;
  const auto evaluate = [&]() -> Val {
    const Val made = eval(field.expression);
    if (field.kind != DefaultKind::factory) {
      return made;
    }
    return call(made, {}, *field.expression);
  };
  if (field.kind == DefaultKind::constant) {
    Permanent permanent(*this);
    frame_ = &frame;
    try {
      field.value = evaluate();
    } catch (const Raise&) {
      field.value = mystery(Reason::dynamic, "a default that is computed", {});
    }
    field.cached = true;
    return field.value;
  }
  if (!fresh) {
    return mystery(Reason::dynamic, "a default that is computed", {});
  }
  Frame* here = frame_;
  frame.outer = here;
  frame_ = &frame;
  const CallSite* site = site_;
  try {
    const Val made = evaluate();
    frame_ = here;
    site_ = site;
    return made;
  } catch (const Raise&) {
    frame_ = here;
    site_ = site;
    return mystery(Reason::dynamic, "a default that is computed", {});
  }
}

std::optional<Val> Interpreter::default_of(const Object& object, Name name) {
  if (!object.cls || object.shape != Shape::instance) {
    return std::nullopt;
  }
  const Class* maker = dataclass_of(*object.cls);
  if (maker) {
    fields(*const_cast<Class*>(maker));
    Class& cls = *const_cast<Class*>(maker);
    if (auto found = cls.field_index.find(name); found != cls.field_index.end()) {
      FieldInfo& field = cls.all_fields[found->second];
      if (field.kind == DefaultKind::constant) {
        return field_default(field, false);
      }
      return std::nullopt;
    }
  }
  return class_attribute(*object.cls, name);
}

std::optional<Val> Interpreter::class_attribute(Class& cls, Name name) {
  for (Class* one : cls.order) {
    if (auto value = one->attribute_values.find(name); value != one->attribute_values.end()) {
      return value->second;
    }
    const auto found = one->attributes.find(name);
    if (found == one->attributes.end()) {
      continue;
    }
    const Node* expression = found->second;
    Val value;
    if (one->is_enum) {
      const bool member =
          std::find(one->members.begin(), one->members.end(), name) != one->members.end();
      if (member) {
        Object made;
        made.shape = Shape::member;
        made.cls = one;
        made.label = names_.text(name);
        Val raw;
        {
          Permanent permanent(*this);
          Frame frame;
          frame.scope = one->module->globals;
          frame.module = one->module;
          frame_ = &frame;
          try {
            raw = eval(expression);
          } catch (const Raise&) {
            raw = mystery(Reason::dynamic, "a member's value", {});
          }
          Val label;
          label.type = Type::text;
          label.text = lasting_.make<std::string>(std::string(names_.text(name)));
          made.fields.push_back({common_.value, {raw, nullptr, true}});
          made.fields.push_back({common_.name, {label, nullptr, true}});
          value.type = Type::object;
          value.object = lasting_.make<Object>(std::move(made));
        }
        one->attribute_values[name] = value;
        return value;
      }
    }
    if (expression->tag == Tag::call) {
      const std::string_view callee = one->module->syntax->span(*expression->kids[0]).text();
      if (callee == "field" || callee == "dataclasses.field") {
        continue;  // a dataclass removes the attribute, or leaves the plain default
      }
    }
    Permanent permanent(*this);
    Frame frame;
    frame.scope = one->scope ? one->scope : one->module->globals;
    frame.module = one->module;
    frame.class_body = one;
    frame_ = &frame;
    one->attribute_values[name] = mystery(Reason::dynamic, "a class attribute", {});
    try {
      value = eval(expression);
    } catch (const Raise&) {
      value = mystery(Reason::dynamic, "a class attribute", {});
    }
    one->attribute_values[name] = value;
    return value;
  }
  return std::nullopt;
}

}  // namespace shardlint::python
