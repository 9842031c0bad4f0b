#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/strings.h"
#include "frontend/python/models.h"
#include "frontend/python/recipes.h"

namespace shardlint::python {
namespace {

constexpr int max_depth = 6;
constexpr std::size_t max_chain = 24;

std::string class_name(const Val& value) {
  return value.object->cls ? value.object->cls->qualified : std::string();
}

bool is_section(const Val& value) {
  return value.is(Type::object) &&
         (value.object->shape == Shape::instance || value.object->shape == Shape::opaque);
}

Span span_of(const Span& span) {
  return span;
}

}  // namespace

bool is_configuration(const Val& value, const Names& names) {
  if (value.is(Type::alternatives)) {
    return std::all_of(value.any->values.begin(), value.any->values.end(),
                       [&](const Val& one) { return is_configuration(one, names); });
  }
  if (!value.is(Type::object)) {
    return false;
  }
  const Object& object = *value.object;
  if (object.shape == Shape::opaque) {
    return object.havoc && object.label.ends_with("()") &&
           is_recipe_name(std::string_view(object.label).substr(0, object.label.size() - 2));
  }
  if (object.shape != Shape::instance || !object.cls) {
    return false;
  }
  return std::any_of(object.cls->order.begin(), object.cls->order.end(),
                     [&](const Class* cls) { return names.text(cls->name) == "ConfigContainer"; });
}

std::vector<Candidate> recipe_candidates(const Module& module, const Names& names,
                                         bool private_functions) {
  std::vector<Candidate> found;
  if (!module.syntax) {
    return found;
  }
  const std::string_view text = module.syntax->source().text();
  const bool about_bridge = text.find("megatron.bridge") != std::string_view::npos;
  std::set<Name> later;  // a definition that another one of that name replaces
  const auto& statements = module.syntax->root()->kids;
  for (auto at = statements.rbegin(); at != statements.rend(); ++at) {
    const Node* node = *at;
    if (node->tag != Tag::function || !later.insert(node->name).second ||
        (!private_functions && names.text(node->name).starts_with("_"))) {
      continue;
    }
    const bool annotated = node->text.find("ConfigContainer") != std::string_view::npos &&
                           node->text.find('[') == std::string_view::npos;
    const std::string_view body = module.syntax->span(*node).text();
    if (annotated ||
        (about_bridge && node->text.empty() && body.find("return ") != std::string_view::npos)) {
      found.push_back({node, annotated});
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Value Emitter::value_of(const Val& value, int depth) const {
  switch (value.type) {
    case Type::none:
      return {};
    case Type::boolean:
      return value.boolean;
    case Type::integer:
      return value.integer;
    case Type::real:
      return value.real;
    case Type::text:
      return *value.text;
    case Type::external:
      if (value.text->starts_with("torch.") && value.text->find('.', 6) == std::string::npos) {
        return value.text->substr(6);
      }
      return Unknown{Reason::sourced, *value.text, value.where, true, {}};
    case Type::function:
      return Unknown{Reason::dynamic,
                     "function " + std::string(interpreter_.names().text(value.function->name)),
                     value.where,
                     true,
                     {}};
    case Type::bound:
      return Unknown{Reason::dynamic, "a method", value.where, true, {}};
    case Type::cls:
      return Unknown{Reason::dynamic, "class " + value.cls->qualified, value.where, true, {}};
    case Type::module:
      return Unknown{Reason::dynamic, "module " + value.module->name, value.where, true, {}};
    case Type::unknown:
      return Unknown{value.mystery->reason,
                     value.mystery->detail,
                     value.mystery->where ? value.mystery->where : value.where,
                     value.mystery->not_null,
                     {}};
    case Type::alternatives: {
      Unknown unknown{
          Reason::branch, "depends on a condition that is not known", value.where, true, {}};
      bool closed = true;
      for (const Val& one : value.any->values) {
        Value piece = value_of(one, depth + 1);
        if (const Unknown* inner = piece.if_unknown()) {
          closed = false;
          unknown.not_null = unknown.not_null && inner->not_null;
        } else {
          unknown.not_null = unknown.not_null && !piece.is_null();
        }
        unknown.domain.push_back(std::move(piece));
      }
      if (!closed) {
        unknown.domain.clear();
      }
      return unknown;
    }
    case Type::object:
      break;
  }
  const Object& object = *value.object;
  if (depth > 8) {
    return Unknown{Reason::limit, "nested too deeply", value.where, true, {}};
  }
  switch (object.shape) {
    case Shape::list:
    case Shape::tuple:
    case Shape::set: {
      if (object.havoc) {
        return Unknown{object.havoc->reason, object.havoc->detail, value.where, true, {}};
      }
      List list;
      for (const Val& one : object.items->values) {
        list.push_back(value_of(one, depth + 1));
      }
      return list;
    }
    case Shape::dict: {
      if (object.havoc) {
        return Unknown{object.havoc->reason, object.havoc->detail, value.where, true, {}};
      }
      Map map;
      for (std::size_t i = 0; i < object.items->keys.size(); ++i) {
        map.emplace_back(value_of(object.items->keys[i], depth + 1).text(),
                         value_of(object.items->values[i], depth + 1));
      }
      return map;
    }
    case Shape::member:
      return object.label;
    case Shape::instance:
      return Unknown{Reason::dynamic, "an object of " + class_name(value), value.where, true, {}};
    case Shape::opaque:
      return Unknown{object.havoc ? object.havoc->reason : Reason::opaque,
                     object.label,
                     value.where,
                     false,
                     {}};
    case Shape::scope:
    case Shape::partial:
    case Shape::super:
      return Unknown{Reason::dynamic, "a function with arguments", value.where, true, {}};
  }
  return Unknown{Reason::dynamic, "an object", value.where, true, {}};
}

// How an assignment reached the function that is linted.
std::string Emitter::inherited(const Write& write) const {
  std::string note(write.note);
  const CallSite* site = write.via;
  if (!site) {
    return note;
  }
  while (site->outer) {
    site = site->outer;
  }
  if (!note.empty()) {
    note += "; ";
  }
  note += "through " + std::string(site->function) + "()";
  if (site->span) {
    note += ", called at " + site->span.source->name() + ":" +
            std::to_string(site->span.source->line_of(site->span.begin));
  }
  return note;
}

void Emitter::chain(const Cell& cell, const std::string& key, const std::optional<Val>& usual) {
  std::vector<const Write*> writes;
  for (const Write* write = cell.write; write && writes.size() < max_chain; write = write->before) {
    if (!is_section(write->value)) {
      writes.push_back(write);
    }
  }
  std::reverse(writes.begin(), writes.end());
  for (const Write* write : writes) {
    Fact fact;
    fact.key = key;
    fact.value = value_of(write == cell.write ? cell.value : write->value);
    fact.key_span = span_of(write->key);
    fact.value_span = write->value_span;
    fact.note = inherited(*write);
    if (write->value.where && write->value_span && write->value.is_scalar() &&
        (write->value.where.source != write->value_span.source ||
         write->value.where.begin < write->value_span.begin ||
         write->value.where.end > write->value_span.end)) {
      fact.note += (fact.note.empty() ? "" : "; ") + std::string("value written at ") +
                   write->value.where.source->name() + ":" +
                   std::to_string(write->value.where.source->line_of(write->value.where.begin));
    }
    if (!fact.key_span) {
      const bool plain = usual && interpreter_.alike(*usual, write->value);
      fact.origin = plain ? Origin::default_value : Origin::computed;
      fact.note = plain ? "" : "set by the constructor";
    }
    made_.push_back({write->order, std::move(fact)});
  }
  if (writes.empty()) {
    if (!defaults_) {
      return;
    }
    Fact fact;
    fact.key = key;
    fact.value = value_of(cell.value);
    // A factory's fresh list or mapping is a default; a scalar that differs from it was computed.
    const bool computed =
        usual && cell.value.is_scalar() && !interpreter_.alike(*usual, cell.value);
    fact.origin = computed ? Origin::computed : Origin::default_value;
    fact.note = computed ? "set by the constructor" : "";
    made_.push_back({0, std::move(fact)});
  }
}

// A mapping whose keys are settings of their own: env_vars.
void Emitter::environment(const Object& dict, const std::string& key, const Cell& cell) {
  const std::uint32_t order = cell.write ? cell.write->order : 0;
  for (std::size_t i = 0; i < dict.items->keys.size(); ++i) {
    if (!dict.items->keys[i].is(Type::text)) {
      continue;
    }
    Fact fact;
    fact.key = key + "." + *dict.items->keys[i].text;
    fact.value = value_of(dict.items->values[i]);
    fact.key_span = dict.items->keys[i].where;
    fact.value_span = dict.items->values[i].where;
    if (cell.write) {
      fact.note = inherited(*cell.write);
    }
    // Exported before anything else, where the environment does not have it already.
    Fact exported = fact;
    exported.key = "env." + *dict.items->keys[i].text;
    if (const bool* flag = fact.value.if_bool()) {
      exported.value = *flag ? "True" : "False";
    } else if (fact.value.is_number()) {
      exported.value = fact.value.text();
    }
    exported.origin = Origin::environment;
    exported.note = "exported unless the environment has it";
    made_.push_back({order, std::move(exported)});
    made_.push_back({order, std::move(fact)});
  }
}

// Fields that the program fills from the model's own files: known for a few public models, else
// unknown because of that.
void Emitter::opaque_model(const Object& model, const std::string& prefix) {
  const KnownModel* known = find_model(model.model);
  if (known) {
    for (const auto& [name, value] : known->values) {
      const Name field = interpreter_.names().intern(name);
      if (model.find(field)) {
        continue;
      }
      Fact fact;
      fact.key = prefix + std::string(name);
      fact.value = value;
      fact.origin = Origin::computed;
      fact.value_span = model.made;
      fact.note = "published configuration of " + model.model;
      made_.push_back({0, std::move(fact)});
    }
  }
  const Schema* schema = interpreter_.schema();
  const ClassInfo* info = schema ? schema->find_class("GPTModelProvider") : nullptr;
  if (!info) {
    return;
  }
  if (provider_fields_.empty()) {
    for (const Key* key : schema->fields(*info)) {
      provider_fields_.emplace_back(interpreter_.names().intern(key->name), key);
    }
  }
  for (const auto& [field, listed] : provider_fields_) {
    const Key& key = *listed;
    if (model.find(field) || (known && known->find(key.name))) {
      continue;
    }
    Fact fact;
    fact.key = prefix + std::string(key.name);
    if (left_to_default(key.name) && key.has_cls && !key.computed_cls) {
      if (!defaults_) {
        continue;
      }
      fact.value = key.cls_default;
      fact.note = "default of the model providers";
    } else {
      fact.value = Unknown{Reason::opaque, model.label, model.made, false, {}};
    }
    fact.origin = Origin::default_value;
    made_.push_back({0, std::move(fact)});
  }
}

void Emitter::field(const Val& owner, Name name, const std::string& key, int depth, bool certain) {
  const std::string_view text = interpreter_.names().text(name);
  if (text.starts_with("_")) {
    return;
  }
  const std::optional<Val> value = interpreter_.peek(owner, name);
  if (!value) {
    return;
  }
  Cell cell;
  cell.value = *value;
  if (owner.is(Type::object)) {
    if (const Field* own = owner.object->find(name)) {
      cell = own->cell;
    }
  } else if (owner.is(Type::alternatives)) {
    for (const Val& one : owner.any->values) {
      const Field* own = one.is(Type::object) ? one.object->find(name) : nullptr;
      if (own && own->cell.write && (!cell.write || own->cell.write->order > cell.write->order)) {
        cell.write = own->cell.write;
      }
    }
    cell.value = *value;
  }
  if (!certain && !cell.value.is(Type::unknown)) {
    Fact fact;
    fact.key = key;
    Unknown unknown{Reason::branch,
                    "its section depends on a condition that is not known",
                    cell.value.where,
                    false,
                    {}};
    fact.value = unknown;
    if (cell.write) {
      fact.key_span = cell.write->key;
      fact.value_span = cell.write->value_span;
    }
    made_.push_back({cell.write ? cell.write->order : 0, std::move(fact)});
    return;
  }
  std::optional<Val> usual;
  if (owner.is(Type::object)) {
    usual = interpreter_.default_of(*owner.object, name);
  }
  bool sections = is_section(cell.value), all = true;
  if (cell.value.is(Type::alternatives)) {
    for (const Val& one : cell.value.any->values) {
      sections = sections || is_section(one);
      all = all && is_section(one);
    }
  }
  if (sections && depth < max_depth) {
    if (cell.write && !cell.write->via && cell.write->key) {
      facts_->sections[key] = cell.write->key;
    }
    if (!all) {
      chain(cell, key, usual);
    }
    section(cell.value, key + ".", depth + 1, certain && all);
    return;
  }
  if (cell.value.is(Type::object) && cell.value.object->shape == Shape::dict &&
      text == "env_vars") {
    environment(*cell.value.object, key, cell);
  }
  chain(cell, key, usual);
}

void Emitter::section(const Val& object, const std::string& prefix, int depth, bool certain) {
  std::vector<Val> parts;
  if (object.is(Type::alternatives)) {
    for (const Val& one : object.any->values) {
      if (is_section(one)) {
        parts.push_back(one);
      }
    }
  } else {
    parts.push_back(object);
  }
  for (const Val& part : parts) {
    if (std::find(open_.begin(), open_.end(), part.object) != open_.end()) {
      return;  // an object that holds itself
    }
  }
  for (const Val& part : parts) {
    open_.push_back(part.object);
  }
  std::vector<Name> names;
  const std::uint32_t number = ++sections_;
  const auto add = [&](Name name) {
    if (name >= listed_.size()) {
      listed_.resize(name + std::size_t{1024});
    }
    if (listed_[name] != number) {
      listed_[name] = number;
      names.push_back(name);
    }
  };
  Value type;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Object& part = *parts[i].object;
    Value one = part.shape == Shape::opaque || !part.cls
                    ? Value(Unknown{part.havoc ? part.havoc->reason : Reason::opaque,
                                    part.label,
                                    part.made,
                                    true,
                                    {}})
                    : Value(part.cls->qualified);
    if (i > 0 && !(one == type)) {
      one = Unknown{Reason::branch, "one of several classes", part.made, true, {}};
    }
    type = one;
    if (part.cls) {
      for (const Class* cls : part.cls->order) {
        if (cls->is_dataclass) {
          for (const FieldInfo& field : interpreter_.fields(*const_cast<Class*>(cls))) {
            add(field.name);
          }
          break;
        }
      }
    }
    for (const Field& field : part.fields) {
      if (field.cell.present) {
        add(field.name);
      }
    }
  }
  Fact fact;
  fact.key = prefix + "_type";
  fact.value = type;
  fact.key_span = parts[0].object->made;
  fact.value_span = parts[0].object->made;
  made_.push_back({0, std::move(fact)});
  const Val joined = parts.size() == 1 ? parts[0] : object;
  for (Name name : names) {
    field(joined, name, prefix + std::string(interpreter_.names().text(name)), depth, certain);
  }
  if (parts.size() == 1 && parts[0].object->shape == Shape::opaque && prefix == "model.") {
    opaque_model(*parts[0].object, prefix);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    open_.pop_back();
  }
}

// A model that keeps its fields in `transformer` answers for them itself.
void Emitter::lift_transformer() {
  constexpr std::string_view inner = "model.transformer.";
  const auto lifted = [](const Ordered& one) { return one.fact.key.starts_with(inner); };
  if (std::none_of(made_.begin(), made_.end(), lifted)) {
    return;
  }
  std::unordered_set<std::string> own;
  for (const Ordered& one : made_) {
    own.insert(one.fact.key);
  }
  const std::size_t count = made_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!lifted(made_[i])) {
      continue;
    }
    Ordered copy = made_[i];
    copy.fact.key = "model." + copy.fact.key.substr(inner.size());
    if (own.count(copy.fact.key) == 0) {
      made_.push_back(std::move(copy));
    }
  }
}

void Emitter::emit(const Val& configuration, Facts& facts) {
  facts_ = &facts;
  made_.clear();
  open_.clear();
  section(configuration, "", 0, true);
  lift_transformer();
  std::vector<Ordered*> order;
  order.reserve(made_.size());
  for (Ordered& one : made_) {
    if (one.fact.key != "_type") {
      order.push_back(&one);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Ordered* a, const Ordered* b) { return a->order < b->order; });
  facts.facts.reserve(order.size());
  for (Ordered* one : order) {
    facts.facts.push_back(std::move(one->fact));
  }
}

}  // namespace shardlint::python
