#include <algorithm>

#include "base/strings.h"
#include "frontend/python/eval.h"

namespace shardlint::python {

Val Interpreter::call_method(const Val& self, Name name, const Arguments& given, const Node& node) {
  const std::string_view method_name = names_.text(name);
  const Span where = span(node);
  // object.__init__ and the like, reached through super() or a class.
  if (self.is(Type::cls) && name == common_.init && !given.positional.empty()) {
    Arguments rest = given;
    const Val object = rest.positional.front().value;
    rest.positional.erase(rest.positional.begin());
    if (object.is(Type::object) && object.object->shape == Shape::instance) {
      if (Class* maker = dataclass_of(*self.cls)) {
        // Only the generated constructor of that class: an own __post_init__ runs as well.
        dataclass_init(object, *maker, rest, node);
      }
    }
    return Val{};
  }
  if (self.is(Type::object) && self.object->shape == Shape::instance) {
    if (name == common_.init) {
      Class* maker = dataclass_of(*self.object->cls);
      if (maker && frame_->function && frame_->function->owner != maker) {
        dataclass_init(self, *maker, given, node);
      }
      return Val{};
    }
    if (name == common_.setattr && given.positional.size() == 2) {
      raw_set(self, given.positional[0].value, given.positional[1].value);
      return Val{};
    }
    if (name == common_.post_init) {
      if (!self.object->cls->complete) {
        havoc(self, Reason::sourced, "the constructor of an unknown base", where);
        return Val{};
      }
      raise("AttributeError", "no __post_init__ above", &node);
    }
    havoc(self, Reason::dynamic, "may be changed by ." + std::string(method_name) + "()", where);
    return unknown_call(self.object->cls->qualified + "." + std::string(method_name), given, node,
                        false);
  }
  std::optional<Val> value;
  if (self.is(Type::text)) {
    value = text_method(*self.text, method_name, given, node);
    if (!value) {
      const bool is_text = method_name == "format" || method_name == "join" ||
                           method_name == "replace" || method_name == "strip";
      return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true,
                     is_text ? Hint::text : Hint::none);
    }
    return *value;
  }
  if (self.is(Type::object)) {
    const Shape shape = self.object->shape;
    if (shape == Shape::list || shape == Shape::tuple || shape == Shape::set) {
      value = list_method(self, method_name, given, node);
    } else if (shape == Shape::dict) {
      value = dict_method(self, method_name, given, node);
    }
    if (value) {
      return *value;
    }
    if (shape == Shape::opaque) {
      // Building and asking do not change the object; anything else may.
      static constexpr std::string_view harmless[] = {"to_megatron_provider",
                                                      "get_model_config",
                                                      "register_pre_wrap_hook",
                                                      "register_post_wrap_hook",
                                                      "get",
                                                      "keys",
                                                      "to_text_provider",
                                                      "provider_bridge"};
      const bool asks =
          std::find(std::begin(harmless), std::end(harmless), method_name) != std::end(harmless) ||
          method_name.starts_with("get_") || method_name.starts_with("is_") ||
          method_name.starts_with("has_") || method_name.starts_with("to_") ||
          method_name.starts_with("parse_") || method_name.starts_with("add_");
      const bool exception = self.object->label == "an exception";
      if (!asks && !exception) {
        havoc(self, Reason::dynamic, "may be changed by ." + std::string(method_name) + "()",
              where);
      }
      Val made = unknown_call(self.object->label + "." + std::string(method_name), given, node,
                              asks || exception);
      made.object->model = self.object->model;
      if (self.object->havoc->reason == Reason::machine ||
          self.object->havoc->reason == Reason::environment) {
        made.object->havoc = self.object->havoc;
      }
      return made;
    }
    havoc(self, Reason::dynamic, "may be changed by ." + std::string(method_name) + "()", where);
  }
  if (self.is(Type::unknown)) {
    Val made = unknown_call(self.mystery->detail + "." + std::string(method_name), given, node,
                            self.mystery->reason == Reason::machine);
    if (self.mystery->reason != Reason::dynamic && self.mystery->reason != Reason::opaque) {
      made.object->havoc = keep(Mystery{self.mystery->reason, made.object->label, where});
    }
    return made;
  }
  return unknown_call(std::string(method_name), given, node, false);
}

std::optional<Val> Interpreter::text_method(const std::string& self, std::string_view name,
                                            const Arguments& given, const Node& node) {
  const Span where = span(node);
  const auto argument = [&](std::size_t i) -> const std::string* {
    return i < given.positional.size() && given.positional[i].value.is(Type::text)
               ? given.positional[i].value.text
               : nullptr;
  };
  const std::size_t count = given.positional.size();
  if (name == "lower" || name == "casefold") {
    return text(lower(self), where);
  }
  if (name == "upper") {
    std::string out = self;
    for (char& c : out) {
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    }
    return text(std::move(out), where);
  }
  if (name == "strip" && count == 0) {
    return text(std::string(trim(self)), where);
  }
  if (name == "startswith" || name == "endswith") {
    std::vector<Val> options;
    if (count == 1 && argument(0)) {
      options.push_back(given.positional[0].value);
    } else if (const std::vector<Val>* all =
                   count == 1 ? elements(given.positional[0].value) : nullptr) {
      options = *all;
    } else {
      return yes_no(std::nullopt, where, "a test of a string");
    }
    for (const Val& option : options) {
      if (!option.is(Type::text)) {
        return yes_no(std::nullopt, where, "a test of a string");
      }
      if (name == "startswith" ? self.starts_with(*option.text) : self.ends_with(*option.text)) {
        return yes_no(true, where, "");
      }
    }
    return yes_no(false, where, "");
  }
  if (name == "replace" && count == 2 && argument(0) && argument(1) && !argument(0)->empty()) {
    return text(replace_all(self, *argument(0), *argument(1)), where);
  }
  if (name == "removeprefix" && argument(0)) {
    return text(self.starts_with(*argument(0)) ? self.substr(argument(0)->size()) : self, where);
  }
  if (name == "removesuffix" && argument(0)) {
    return text(
        self.ends_with(*argument(0)) ? self.substr(0, self.size() - argument(0)->size()) : self,
        where);
  }
  if (name == "split" && count <= 1) {
    std::vector<Val> parts;
    if (count == 0) {
      std::string word;
      for (char c : self + " ") {
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
          if (!word.empty()) {
            parts.push_back(text(word, where));
          }
          word.clear();
        } else {
          word += c;
        }
      }
    } else if (argument(0) && argument(0)->size() == 1) {
      for (std::string_view part : split(self, (*argument(0))[0])) {
        parts.push_back(text(std::string(part), where));
      }
    } else {
      return std::nullopt;
    }
    return sequence(Shape::list, std::move(parts), where);
  }
  if (name == "join" && count == 1) {
    const auto all = iterate(given.positional[0].value);
    if (!all) {
      return std::nullopt;
    }
    std::string out;
    for (std::size_t i = 0; i < all->size(); ++i) {
      if (!(*all)[i].is(Type::text)) {
        return std::nullopt;
      }
      out += (i ? self : "") + *(*all)[i].text;
    }
    return text(std::move(out), where);
  }
  if (name == "count" && argument(0) && argument(0)->size() == 1) {
    Val made;
    made.type = Type::integer;
    made.integer = std::count(self.begin(), self.end(), (*argument(0))[0]);
    made.where = where;
    return made;
  }
  if (name == "isdigit") {
    return yes_no(!self.empty() && self.find_first_not_of("0123456789") == std::string::npos, where,
                  "");
  }
  return std::nullopt;
}

std::optional<Val> Interpreter::list_method(const Val& self, std::string_view name,
                                            const Arguments& given, const Node& node) {
  Object& list = *self.object;
  const Span where = span(node);
  const Val* first = given.get(0);
  const bool changes = list.shape == Shape::list || list.shape == Shape::set;
  if ((name == "append" || name == "add") && first && changes) {
    Items items = *list.items;
    if (name == "add") {
      for (const Val& one : items.values) {
        if (equal(one, *first) == std::optional(true)) {
          return Val{};
        }
      }
    }
    items.values.push_back(*first);
    set_items(list, std::move(items));
    return Val{};
  }
  if ((name == "extend" || name == "update") && first && changes) {
    const auto more = iterate(*first);
    if (!more) {
      havoc(self, Reason::dynamic, "extended by an unknown list", where);
      return Val{};
    }
    Items items = *list.items;
    items.values.insert(items.values.end(), more->begin(), more->end());
    set_items(list, std::move(items));
    return Val{};
  }
  if (name == "copy") {
    Val made = sequence(list.shape, list.items->values, where);
    if (made.is(Type::object)) {
      made.object->havoc = list.havoc;
    }
    return made;
  }
  if (list.havoc) {
    return std::nullopt;
  }
  if (name == "index" && first) {
    for (std::size_t i = 0; i < list.items->values.size(); ++i) {
      const std::optional<bool> found = equal(list.items->values[i], *first);
      if (!found) {
        return mystery(Reason::dynamic, "index()", where, true, Hint::integer);
      }
      if (*found) {
        Val made;
        made.type = Type::integer;
        made.integer = static_cast<std::int64_t>(i);
        made.where = where;
        return made;
      }
    }
    raise("ValueError", "not in the list", &node);
  }
  if (name == "pop" && list.shape == Shape::list && !list.items->values.empty() &&
      given.positional.empty()) {
    Items items = *list.items;
    const Val last = items.values.back();
    items.values.pop_back();
    set_items(list, std::move(items));
    return last;
  }
  if (name == "insert" && list.shape == Shape::list && given.positional.size() == 2 &&
      first->is(Type::integer) && first->integer >= 0) {
    Items items = *list.items;
    const auto at =
        std::min<std::size_t>(static_cast<std::size_t>(first->integer), items.values.size());
    items.values.insert(items.values.begin() + static_cast<std::ptrdiff_t>(at),
                        given.positional[1].value);
    set_items(list, std::move(items));
    return Val{};
  }
  if (name == "remove" && first && changes) {
    Items items = *list.items;
    for (std::size_t i = 0; i < items.values.size(); ++i) {
      const std::optional<bool> found = equal(items.values[i], *first);
      if (!found) {
        break;
      }
      if (*found) {
        items.values.erase(items.values.begin() + static_cast<std::ptrdiff_t>(i));
        set_items(list, std::move(items));
        return Val{};
      }
    }
  }
  if (name == "count" && first) {
    return mystery(Reason::dynamic, "count()", where, true, Hint::integer);
  }
  return std::nullopt;
}

std::optional<Val> Interpreter::dict_method(const Val& self, std::string_view name,
                                            const Arguments& given, const Node& node) {
  Object& object = *self.object;
  const Span where = span(node);
  const Val* key = given.get(0);
  if ((name == "get" || name == "pop" || name == "setdefault") && key) {
    bool certain = false;
    const Val* found = dict_get(object, *key, certain);
    std::optional<Val> value;
    if (found && (certain || !object.havoc)) {
      value = *found;
    } else if (found) {
      value = join(*found, given.positional.size() > 1 ? given.positional[1].value : Val{});
    } else if (certain) {
      if (name == "pop" && given.positional.size() < 2) {
        raise("KeyError", str(*key).value_or("key"), &node);
      }
      value = given.positional.size() > 1 ? given.positional[1].value : Val{};
    } else {
      value = mystery(object.havoc ? object.havoc->reason : Reason::dynamic,
                      std::string(where.text().substr(0, 60)), where);
      if (!object.havoc && object.items->values.size() < 8) {
        for (const Val& one : object.items->values) {
          value = join(*value, one);
        }
      }
    }
    if (name == "pop") {
      if (found) {
        Items items = *object.items;
        for (std::size_t i = 0; i < items.keys.size(); ++i) {
          if (equal(items.keys[i], *key) == std::optional(true)) {
            items.keys.erase(items.keys.begin() + static_cast<std::ptrdiff_t>(i));
            items.values.erase(items.values.begin() + static_cast<std::ptrdiff_t>(i));
            break;
          }
        }
        set_items(object, std::move(items));
      } else if (!certain) {
        havoc(self, Reason::dynamic, "a key that is not known was removed", where);
      }
    } else if (name == "setdefault" && !found) {
      set_item(self, *key, *value, node);
    }
    return value;
  }
  if (name == "update") {
    const auto put = [&](const Val& k, const Val& v) { set_item(self, k, v, node); };
    for (const Argument& argument : given.positional) {
      if (argument.value.is(Type::object) && argument.value.object->shape == Shape::dict &&
          !argument.value.object->havoc) {
        const Items more = *argument.value.object->items;
        for (std::size_t i = 0; i < more.keys.size(); ++i) {
          put(more.keys[i], more.values[i]);
        }
      } else {
        havoc(self, Reason::dynamic, "updated from an unknown mapping", where);
      }
    }
    for (const Argument& argument : given.keywords) {
      put(text(std::string(names_.text(argument.name)), argument.key), argument.value);
    }
    if (given.open) {
      havoc(self, Reason::dynamic, "updated from an unknown mapping", where);
    }
    return Val{};
  }
  if (name == "copy") {
    Val made = dict(object.items->keys, object.items->values, where);
    made.object->havoc = object.havoc;
    return made;
  }
  if (name == "clear") {
    set_items(object, {});
    SlotValue state;
    journal_.set({&object, Part::havoc, 0}, state);
    return Val{};
  }
  if (object.havoc) {
    return name == "keys" || name == "values" || name == "items"
               ? std::optional(mystery(object.havoc->reason, std::string(name) + "()", where, true,
                                       Hint::object))
               : std::nullopt;
  }
  if (name == "keys") {
    return sequence(Shape::list, object.items->keys, where);
  }
  if (name == "values") {
    return sequence(Shape::list, object.items->values, where);
  }
  if (name == "items") {
    std::vector<Val> pairs;
    for (std::size_t i = 0; i < object.items->keys.size(); ++i) {
      pairs.push_back(
          sequence(Shape::tuple, {object.items->keys[i], object.items->values[i]}, where));
    }
    return sequence(Shape::list, std::move(pairs), where);
  }
  return std::nullopt;
}

}  // namespace shardlint::python
