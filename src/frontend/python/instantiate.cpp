// Objects from classes: constructors, the fields that they compute, and isinstance().
#include <algorithm>

#include "frontend/python/classes.h"
#include "frontend/python/eval.h"

namespace shardlint::python {

namespace {

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
