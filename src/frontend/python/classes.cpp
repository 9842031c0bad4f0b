#include "frontend/python/classes.h"

#include <algorithm>

#include "base/strings.h"
#include "frontend/python/eval.h"

namespace shardlint::python {
namespace {

// Python's order of resolution (C3); on a conflict, which Python would refuse, plain depth first.
std::vector<Class*> linearize(Class* self, const std::vector<Class*>& bases) {
  std::vector<std::vector<Class*>> lists;
  for (Class* base : bases) {
    lists.push_back(base->order);
  }
  lists.push_back(bases);
  std::vector<Class*> order{self};
  for (;;) {
    bool empty = true;
    Class* next = nullptr;
    for (const auto& list : lists) {
      if (list.empty()) {
        continue;
      }
      empty = false;
      Class* head = list.front();
      const bool later = std::any_of(lists.begin(), lists.end(), [&](const auto& other) {
        return !other.empty() && std::find(other.begin() + 1, other.end(), head) != other.end();
      });
      if (!later) {
        next = head;
        break;
      }
    }
    if (empty) {
      return order;
    }
    if (!next) {
      for (const auto& list : lists) {
        for (Class* cls : list) {
          if (std::find(order.begin(), order.end(), cls) == order.end()) {
            order.push_back(cls);
          }
        }
      }
      return order;
    }
    order.push_back(next);
    for (auto& list : lists) {
      if (!list.empty() && list.front() == next) {
        list.erase(list.begin());
      }
    }
  }
}

}  // namespace

Class* Interpreter::class_of(const Node& node, Object* scope) {
  const auto key = std::make_pair(&node, static_cast<const Object*>(scope));
  if (auto found = class_index_.find(key); found != class_index_.end()) {
    return found->second;
  }
  Class& cls = classes_.emplace_back();
  class_index_.emplace(key, &cls);
  cls.name = node.name;
  cls.module = frame_->module;
  cls.node = &node;
  cls.scope = scope;
  cls.qualified = frame_->module->name + "." + std::string(names_.text(node.name));
  cls.order = {&cls};
  for (std::size_t i = 2; i < node.kids.size(); ++i) {
    const std::string_view text = span(*node.kids[i]).text();
    const std::string_view head = text.substr(0, text.find('('));
    if (head == "dataclass" || head.ends_with(".dataclass")) {
      cls.is_dataclass = true;
      cls.kw_only = text.find("kw_only=True") != std::string_view::npos;
    }
  }
  resolve_bases(cls, node);
  bool keyword_only = cls.kw_only;
  std::vector<const Node*> work(node.kids[0]->kids.begin(), node.kids[0]->kids.end());
  for (std::size_t at = 0; at < work.size(); ++at) {
    const Node& inner = *work[at];
    if (inner.tag == Tag::annotated && inner.kids[1]->tag == Tag::name) {
      const Name name = inner.kids[1]->name;
      if (inner.text.find("KW_ONLY") != std::string_view::npos) {
        keyword_only = true;
        continue;
      }
      if (inner.kids[0]) {
        cls.attributes[name] = inner.kids[0];
      }
      if (inner.text.find("ClassVar") == std::string_view::npos) {
        FieldInfo field;
        field.name = name;
        field.owner = &cls;
        field.expression = inner.kids[0];
        field.kw_only = keyword_only;
        field.kind = inner.kids[0] ? DefaultKind::constant : DefaultKind::required;
        cls.own_fields.push_back(field);
      }
    } else if (inner.tag == Tag::assign) {
      for (std::size_t i = 1; i < inner.kids.size(); ++i) {
        if (inner.kids[i]->tag == Tag::name) {
          cls.attributes[inner.kids[i]->name] = inner.kids[0];
          if (cls.is_enum) {
            cls.members.push_back(inner.kids[i]->name);
          }
        }
      }
    } else if (inner.tag == Tag::function) {
      Function function;
      function.node = &inner;
      function.module = frame_->module;
      function.scope = scope;
      function.owner = &cls;
      function.name = inner.name;
      for (std::size_t i = 2; i < inner.kids.size(); ++i) {
        const std::string_view text = span(*inner.kids[i]).text();
        function.is_static = function.is_static || text == "staticmethod";
        function.is_classmethod = function.is_classmethod || text == "classmethod";
        function.is_property =
            function.is_property || text == "property" || text.ends_with("cached_property");
        const bool known = text == "staticmethod" || text == "classmethod" || text == "property" ||
                           text == "override" || text == "abstractmethod" ||
                           text.ends_with(".abstractmethod") || text.ends_with("cached_property") ||
                           text.ends_with(".override") || text.ends_with("lru_cache") ||
                           text == "cache" || text == "overload";
        function.unknown_decorator = function.unknown_decorator || !known;
      }
      if (!names_.text(inner.name).empty() &&
          !(function.unknown_decorator && cls.methods.count(inner.name) != 0)) {
        cls.methods[inner.name] = lasting_.make<Function>(std::move(function));
      }
    } else if (inner.tag == Tag::if_ || inner.tag == Tag::try_) {
      for (const Node* kid : inner.kids) {
        if (kid && kid->tag == Tag::block) {
          work.insert(work.end(), kid->kids.begin(), kid->kids.end());
        }
      }
    }
  }
  for (const Class* base : cls.order) {
    cls.custom_setattr = cls.custom_setattr || base->methods.count(common_.setattr) != 0;
    cls.custom_getattr = cls.custom_getattr || base->methods.count(common_.getattr) != 0;
  }
  return &cls;
}

void Interpreter::resolve_bases(Class& cls, const Node& node) {
  std::vector<Class*> bases;
  Permanent permanent(*this);
  Frame frame;
  frame.scope = cls.scope ? cls.scope : cls.module->globals;
  frame.module = cls.module;
  frame.outer = frame_;
  frame_ = &frame;
  for (const Node* argument : node.kids[1]->kids) {
    const Node* base = argument;
    if (base->tag == Tag::opaque || base->tag == Tag::keyword) {
      continue;  // metaclass=...
    }
    if (base->tag == Tag::subscript) {
      base = base->kids[0];
    }
    Val value;
    try {
      value = eval(base);
    } catch (const Raise&) {
      value = mystery(Reason::dynamic, "a base class", span(*base));
    }
    if (value.is(Type::cls) && value.cls != &cls) {
      bases.push_back(value.cls);
      cls.complete = cls.complete && value.cls->complete;
      cls.is_enum = cls.is_enum || value.cls->is_enum;
      cls.is_exception = cls.is_exception || value.cls->is_exception;
      continue;
    }
    const std::string name = value.is(Type::external) ? *value.text : "";
    const std::string_view last = std::string_view(name).substr(
        name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    static constexpr std::string_view plain[] = {"object", "ABC", "Generic",    "Protocol",
                                                 "str",    "int", "NamedTuple", "TypedDict"};
    if (last.ends_with("Enum") || last == "Flag" || last == "IntFlag") {
      cls.is_enum = true;
    } else if (last.ends_with("Error") || last.ends_with("Exception") ||
               last.ends_with("Warning")) {
      cls.is_exception = true;
    } else if (std::find(std::begin(plain), std::end(plain), last) == std::end(plain)) {
      cls.complete = false;
    }
  }
  cls.order = linearize(&cls, bases);
}

// A class that only the catalogue of keys knows: fields and defaults, no methods.
Class* Interpreter::catalogued(std::string_view qualified) {
  if (!schema_ || !qualified.starts_with("megatron.")) {
    return nullptr;
  }
  if (auto found = catalogue_.find(qualified); found != catalogue_.end()) {
    return found->second;
  }
  Class*& slot = catalogue_[std::string(qualified)];
  const std::size_t dot = qualified.rfind('.');
  const std::string_view last = qualified.substr(dot + 1);
  const ClassInfo* info = schema_->find_class(qualified);
  if (!info && !last.empty() && last[0] >= 'A' && last[0] <= 'Z') {
    info = schema_->find_class(last);  // imported through a package that re-exports it
    const std::string_view package = qualified.substr(0, qualified.find('.', 9));
    if (info && !info->target.starts_with(package) &&
        !(package == "megatron.bridge" && info->target.starts_with("megatron."))) {
      info = nullptr;
    }
  }
  if (!info) {
    return slot = nullptr;
  }
  const std::string defined(info->target);
  if (defined != qualified) {
    Class* made = catalogued(defined);
    return catalogue_[std::string(qualified)] = made;
  }
  Class& cls = classes_.emplace_back();
  slot = &cls;
  cls.name = names_.intern(info->name);
  cls.qualified = defined;
  cls.info = info;
  cls.is_dataclass = true;
  cls.kw_only = true;
  cls.order = {&cls};
  for (const std::string_view base : info->bases) {
    if (Class* known = catalogued(base); known && known != &cls) {
      cls.order.push_back(known);
    }
  }
  for (const Key* known : schema_->fields(*info)) {
    const Key& key = *known;
    FieldInfo field;
    field.name = names_.intern(key.name);
    field.owner = &cls;
    field.init = key.settable;
    field.kw_only = true;
    field.kind = DefaultKind::constant;
    field.cached = true;
    if (key.required) {
      field.kind = DefaultKind::required;
    } else if (!key.builds.empty()) {
      field.kind = DefaultKind::factory;
      field.builds = catalogued(key.builds);
      field.kind = field.builds ? DefaultKind::factory : DefaultKind::unknown;
    } else if (key.computed_cls || !key.has_cls) {
      field.kind = DefaultKind::unknown;
    } else {
      field.value = catalogue_value(key.cls_default);
      if (field.value.is(Type::object)) {
        field.kind = DefaultKind::factory;
      } else if (field.value.is(Type::unknown)) {
        field.kind = DefaultKind::unknown;
      }
    }
    cls.own_fields.push_back(field);
  }
  return &cls;
}

Val Interpreter::catalogue_value(const Value& value) {
  Val made;
  if (const bool* b = value.if_bool()) {
    made.type = Type::boolean;
    made.boolean = *b;
  } else if (const std::int64_t* i = value.if_integer()) {
    made.type = Type::integer;
    made.integer = *i;
  } else if (const double* d = value.if_double()) {
    made.type = Type::real;
    made.real = *d;
  } else if (const std::string* s = value.if_string()) {
    made.type = Type::text;
    made.text = lasting_.make<std::string>(std::string(*s));
  } else if (const List* list = value.if_list()) {
    std::vector<Val> all;
    for (const Value& one : *list) {
      all.push_back(catalogue_value(one));
    }
    Object object;
    object.shape = Shape::list;
    object.items = lasting_.make<Items>(Items{{}, std::move(all)});
    made.type = Type::object;
    made.object = lasting_.make<Object>(std::move(object));
  } else if (const Map* map = value.if_map()) {
    Items items;
    for (const auto& [key, one] : *map) {
      items.keys.push_back(catalogue_value(Value(key)));
      items.values.push_back(catalogue_value(one));
    }
    Object object;
    object.shape = Shape::dict;
    object.items = lasting_.make<Items>(std::move(items));
    made.type = Type::object;
    made.object = lasting_.make<Object>(std::move(object));
  } else if (const Unknown* unknown = value.if_unknown()) {
    made.type = Type::unknown;
    made.mystery = lasting_.make<Mystery>(
        Mystery{unknown->reason, unknown->detail, {}, unknown->not_null, Hint::none});
  }
  return made;
}

const Function* Interpreter::method(const Class& cls, Name name, const Class* after) {
  bool started = after == nullptr;
  for (const Class* one : cls.order) {
    if (started) {
      if (auto found = one->methods.find(name); found != one->methods.end()) {
        return found->second;
      }
    }
    started = started || one == after;
  }
  return nullptr;
}

}  // namespace shardlint::python
