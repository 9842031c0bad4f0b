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

// The catalogue has no method bodies. These constructors are known to compute fields; a class that
// puts its own constructor off until finalize() has none. Where `when` names a field, nothing is
// computed unless that field is `is`; `gives` is then the value, or unknown when it is empty.
struct ComputedInit {
  std::string_view cls;
  std::string_view field;
  std::string_view when = {};
  bool is = false;
  std::string_view gives = {};
};
constexpr ComputedInit computed_inits[] = {
    {"megatron.bridge.training.config.DistributedDataParallelConfig", ""},
    {"megatron.bridge.training.config.OptimizerConfig", ""},
    {"megatron.core.distributed.distributed_data_parallel_config.DistributedDataParallelConfig",
     "fsdp_double_buffer", "megatron_fsdp_max_pool_double_buffer", true, "true"},
    {"megatron.training.config.training_config.CheckpointConfig", "async_strategy", "async_save",
     false, "mcore"},
    {"megatron.core.optimizer.optimizer_config.OptimizerConfig", "store_param_remainders",
     "use_precision_aware_optimizer", true, ""},
    {"megatron.bridge.training.tokenizers.config.TokenizerConfig", "pad_vocab_size"},
    {"megatron.bridge.training.tokenizers.config.TokenizerConfig", "tokenizer_hf_no_use_fast"},
    {"megatron.bridge.training.tokenizers.config.TokenizerConfig",
     "tokenizer_hf_no_include_special_tokens"},
    {"megatron.bridge.training.tokenizers.config.TokenizerConfig", "trust_remote_code"},
    {"megatron.bridge.training.tokenizers.config.TokenizerConfig",
     "tokenizer_sentencepiece_legacy"},
    {"megatron.bridge.training.config.GPTDatasetConfig", "sequence_length"},
    {"megatron.bridge.training.mixed_precision.MixedPrecisionConfig", "fp8_param"},
    {"megatron.bridge.training.mixed_precision.MixedPrecisionConfig", "fp8_param_gather"},
    {"megatron.bridge.training.mixed_precision.MixedPrecisionConfig", "fp4_param"},
    {"megatron.bridge.training.mixed_precision.MixedPrecisionConfig", "fp4_param_gather"},
};

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

Val Interpreter::instantiate(Class& cls, const Arguments& given, const Node& node) {
  if (cls.is_enum) {
    const Val* wanted = given.get(0);
    for (Name name : cls.members) {
      const Val member = class_attribute(cls, name).value_or(Val{});
      if (wanted && member.is(Type::object) &&
          (equal(member.object->find(common_.value)->cell.value, *wanted) == std::optional(true) ||
           (wanted->is(Type::object) && wanted->object == member.object))) {
        return member;
      }
    }
    return mystery(Reason::dynamic, "a member of " + cls.qualified, span(node), true, Hint::object);
  }
  Object made;
  made.shape = Shape::instance;
  made.cls = &cls;
  Val self = object(std::move(made), span(node));
  if (cls.is_exception) {
    return self;
  }
  // The first class on the way that makes its constructor: written out, or generated.
  for (Class* one : cls.order) {
    if (auto init = one->methods.find(common_.init); init != one->methods.end()) {
      if (dataclass_of(cls)) {
        // Fields keep their defaults as class attributes until the constructor sets them.
        for (FieldInfo& field : dataclass_of(cls)->all_fields) {
          (void)field;
        }
      }
      try {
        call_function(*init->second, given, node, &self);
      } catch (const Raise& raised) {
        if (cls.complete) {
          throw;
        }
        havoc(self, Reason::dynamic, "a constructor that is not followed", span(node));
      }
      return self;
    }
    if (one->is_dataclass) {
      dataclass_init(self, *one, given, node);
      return self;
    }
  }
  if (!cls.complete) {
    for (const auto* list : {&given.positional, &given.keywords}) {
      for (const Argument& argument : *list) {
        havoc(argument.value, Reason::dynamic, "kept by " + cls.qualified, span(node));
      }
    }
    SlotValue state;
    state.havoc = keep(Mystery{Reason::opaque, cls.qualified, span(node)});
    journal_.set({self.object, Part::havoc, 0}, state);
  }
  return self;
}

void Interpreter::dataclass_init(const Val& self, Class& cls, const Arguments& given,
                                 const Node& node) {
  fields(cls);
  Class& actual = *self.object->cls;
  const bool custom = actual.custom_setattr;
  std::size_t next = 0;
  std::vector<bool> used(given.keywords.size(), false);
  const auto set = [&](Name name, const Val& value, const Span& key, const Span& value_span) {
    if (custom) {
      set_attribute(self, name, value, key, value_span, &node);
    } else {
      set_field(*self.object, name, value, key, value_span);
    }
  };
  if (given.open || !cls.complete) {
    SlotValue state;
    state.havoc =
        keep(Mystery{given.open ? Reason::argument : Reason::sourced,
                     given.open ? "arguments of " + cls.qualified : cls.qualified, span(node)});
    journal_.set({self.object, Part::havoc, 0}, state);
  }
  for (std::size_t at = 0; at < cls.all_fields.size(); ++at) {
    FieldInfo field = cls.all_fields[at];
    if (field.init && !field.kw_only && next < given.positional.size()) {
      const Argument& argument = given.positional[next++];
      set(field.name, argument.value, argument.span, argument.span);
      continue;
    }
    const Argument* argument = field.init ? given.keyword(field.name) : nullptr;
    if (argument) {
      used[static_cast<std::size_t>(argument - given.keywords.data())] = true;
      set(field.name, argument->value, argument->key, argument->span);
    } else if (field.kind == DefaultKind::factory) {
      const Val value = field_default(cls.all_fields[at], true, &node);
      if (custom) {
        set(field.name, value, {}, {});
      } else {
        SlotValue cell;
        cell.cell = {value, nullptr, true};
        journal_.set({self.object, Part::field, field.name}, cell);
      }
    } else if (field.kind == DefaultKind::constant && custom) {
      set_attribute(self, field.name, field_default(cls.all_fields[at], true, &node), {}, {},
                    &node);
    } else if (field.kind == DefaultKind::required && field.init && !given.open && cls.complete &&
               !cls.info) {
      raise("TypeError", cls.qualified + "() needs " + std::string(names_.text(field.name)), &node);
    } else if (field.kind == DefaultKind::unknown) {
      SlotValue cell;
      cell.cell = {field_default(field, false), nullptr, true};
      journal_.set({self.object, Part::field, field.name}, cell);
    }
  }
  for (std::size_t i = 0; i < given.keywords.size(); ++i) {
    if (used[i]) {
      continue;
    }
    if (cls.complete && !cls.info) {
      raise("TypeError",
            cls.qualified + "() has no field " + std::string(names_.text(given.keywords[i].name)),
            &node);
    }
    set(given.keywords[i].name, given.keywords[i].value, given.keywords[i].key,
        given.keywords[i].span);
  }
  if (next < given.positional.size() && cls.complete && !cls.info) {
    raise("TypeError", "too many arguments for " + cls.qualified + "()", &node);
  }
  if (const Function* post = method(actual, common_.post_init)) {
    call_function(*post, {}, node, &self);
  } else {
    computed_fields(self, cls, node);
  }
}

void Interpreter::computed_fields(const Val& self, Class& cls, const Node& node) {
  for (const Class* one : cls.order) {
    bool found = false;
    for (const ComputedInit& computed : computed_inits) {
      const Name name = names_.intern(computed.field);
      if (one->info == nullptr || one->qualified != computed.cls) {
        continue;
      }
      found = true;
      if (cls.field_index.count(name) == 0) {
        continue;
      }
      std::optional<bool> holds = true;
      if (!computed.when.empty()) {
        const auto decides = peek(self, names_.intern(computed.when));
        holds = decides ? truth(*decides) : std::nullopt;
        holds = holds ? std::optional(*holds == computed.is) : std::nullopt;
      }
      if (holds == std::optional(false)) {
        continue;
      }
      SlotValue cell;
      cell.cell.present = true;
      cell.cell.value =
          computed.gives == "true" ? yes_no(true, {}, "") : text(std::string(computed.gives));
      if (!holds || computed.gives.empty()) {
        cell.cell.value =
            mystery(Reason::dynamic, "set by the constructor of " + one->qualified, span(node));
      }
      journal_.set({self.object, Part::field, name}, cell);
    }
    if (found) {
      return;
    }
  }
}

std::optional<bool> Interpreter::is_subclass(const Class& cls, const Val& base) {
  if (base.is(Type::cls)) {
    if (std::find(cls.order.begin(), cls.order.end(), base.cls) != cls.order.end()) {
      return true;
    }
    return cls.complete ? std::optional(false) : std::nullopt;
  }
  if (base.is(Type::external) && base.text->starts_with("builtins.")) {
    if (*base.text == "builtins.object") {
      return true;
    }
    return cls.complete && !cls.is_enum ? std::optional(false) : std::nullopt;
  }
  return cls.complete && base.is(Type::external) ? std::optional(false) : std::nullopt;
}

std::optional<bool> Interpreter::is_instance(const Val& value, const Val& cls) {
  if (cls.is(Type::object) && cls.object->shape == Shape::tuple && !cls.object->havoc) {
    bool certain = true;
    for (const Val& one : cls.object->items->values) {
      const std::optional<bool> decided = is_instance(value, one);
      if (decided == std::optional(true)) {
        return true;
      }
      certain = certain && decided;
    }
    return certain ? std::optional(false) : std::nullopt;
  }
  if (value.is(Type::alternatives)) {
    std::optional<bool> all;
    for (const Val& one : value.any->values) {
      const std::optional<bool> decided = is_instance(one, cls);
      if (!decided || (all && *all != *decided)) {
        return std::nullopt;
      }
      all = decided;
    }
    return all;
  }
  const std::string wanted = cls.is(Type::external) ? *cls.text : "";
  const bool builtin = wanted.starts_with("builtins.");
  const std::string kind = builtin ? wanted.substr(9) : "";
  if (!cls.is(Type::external) && !cls.is(Type::cls)) {
    return std::nullopt;
  }
  if (kind == "object") {
    return true;
  }
  const auto collection = [&] {
    return wanted == "collections.abc.Sequence" || wanted == "typing.Sequence" ||
           wanted == "collections.abc.Mapping" || wanted == "typing.Mapping" ||
           wanted == "typing.Dict" || wanted == "typing.List" ||
           wanted == "collections.abc.Iterable";
  };
  switch (value.type) {
    case Type::none:
      return false;
    case Type::boolean:
      return collection()                   ? std::optional(false)
             : builtin || cls.is(Type::cls) ? std::optional(kind == "bool" || kind == "int")
                                            : std::nullopt;
    case Type::integer:
      return builtin || cls.is(Type::cls) || collection() ? std::optional(kind == "int")
                                                          : std::nullopt;
    case Type::real:
      return builtin || cls.is(Type::cls) || collection() ? std::optional(kind == "float")
                                                          : std::nullopt;
    case Type::text:
      return builtin || cls.is(Type::cls) ? std::optional(kind == "str") : std::nullopt;
    case Type::object: {
      const Object& object = *value.object;
      const auto shape = [&](const char* name) {
        return builtin             ? std::optional(kind == name)
               : cls.is(Type::cls) ? std::optional(false)
                                   : std::nullopt;
      };
      switch (object.shape) {
        case Shape::list:
          return shape("list");
        case Shape::tuple:
          return shape("tuple");
        case Shape::set:
          return shape("set");
        case Shape::dict:
          return shape("dict");
        case Shape::instance:
          return is_subclass(*object.cls, cls);
        case Shape::member:
          return is_subclass(*object.cls, cls);
        case Shape::opaque:
          if (!object.model.empty()) {  // a model provider is never a builtin
            return builtin ? std::optional(false) : std::nullopt;
          }
          return std::nullopt;
        default:
          return builtin ? std::optional(false) : std::nullopt;
      }
    }
    case Type::unknown:
      if (builtin && value.mystery->not_null && value.mystery->hint != Hint::none) {
        switch (value.mystery->hint) {
          case Hint::text:
            return kind == "str";
          case Hint::integer:
            return kind == "int";
          case Hint::real:
            return kind == "float";
          case Hint::boolean:
            return kind == "bool" || kind == "int";
          default:
            break;
        }
      }
      return std::nullopt;
    case Type::function:
    case Type::bound:
    case Type::cls:
    case Type::module:
      return builtin ? std::optional(kind == "type" && value.is(Type::cls)) : std::nullopt;
    case Type::external:
      if (wanted == "torch.dtype" && value.text->starts_with("torch.")) {
        return true;
      }
      return builtin && value.text->starts_with("torch.") ? std::optional(false) : std::nullopt;
    case Type::alternatives:
      break;
  }
  return std::nullopt;
}

}  // namespace shardlint::python
