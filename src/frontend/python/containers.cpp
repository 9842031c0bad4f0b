// Lists, tuples, sets and dicts: written, indexed, iterated over.

#include <algorithm>

#include "frontend/python/eval.h"
#include "frontend/python/numbers.h"

namespace shardlint::python {

Val Interpreter::dict_literal(const Node& node) {
  Val made = dict({}, {}, span(node));
  std::vector<Val> keys, values;
  const Mystery* open = nullptr;
  const auto put = [&](const Val& key, const Val& value) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (equal(keys[i], key) == std::optional(true)) {
        values[i] = value;
        return;
      }
    }
    keys.push_back(key);
    values.push_back(value);
  };
  for (const Node* kid : node.kids) {
    if (kid->tag == Tag::pair) {
      const Val key = eval(kid->kids[0]);
      const Val value = eval(kid->kids[1]);
      if (key.is_scalar()) {
        put(key, value);
      } else {
        open = keep(Mystery{Reason::dynamic, "a key that is not known", span(*kid)});
      }
    } else if (kid->tag == Tag::double_star) {
      const Val spread = eval(kid->kids[0]);
      if (spread.is(Type::object) && spread.object->shape == Shape::dict) {
        if (spread.object->havoc) {
          open = spread.object->havoc;
          values.clear();
          keys.clear();
        }
        for (std::size_t i = 0; i < spread.object->items->keys.size(); ++i) {
          put(spread.object->items->keys[i], spread.object->items->values[i]);
        }
      } else {
        open = keep(Mystery{Reason::dynamic, std::string(span(*kid).text()), span(*kid)});
        keys.clear();
        values.clear();
      }
    } else {
      eval(kid);
      open = keep(Mystery{Reason::dynamic, std::string(span(*kid).text()), span(*kid)});
    }
  }
  made.object->items = keep(Items{std::move(keys), std::move(values)});
  made.object->havoc = open;
  return made;
}

Val Interpreter::subscript(const Node& node) {
  const Val container = eval(node.kids[0]);
  const Node& index = *node.kids[1];
  if (index.tag == Tag::slice) {
    std::int64_t bound[3] = {0, 0, 1};
    bool known = true, given[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      if (index.kids[i]) {
        const Val value = eval(index.kids[i]);
        given[i] = !value.is(Type::none);
        known = known && (value.is(Type::none) || value.is(Type::integer));
        bound[i] = given[i] && value.is(Type::integer) ? value.integer : bound[i];
      }
    }
    const std::vector<Val>* values = elements(container);
    const bool is_text = container.is(Type::text);
    if (known && bound[2] == 1 && (values || is_text)) {
      const auto size = static_cast<std::int64_t>(values ? values->size() : container.text->size());
      std::int64_t low = given[0] ? bound[0] : 0, high = given[1] ? bound[1] : size;
      low = std::clamp<std::int64_t>(low < 0 ? low + size : low, 0, size);
      high = std::clamp<std::int64_t>(high < 0 ? high + size : high, low, size);
      if (is_text) {
        return text(container.text->substr(static_cast<std::size_t>(low),
                                           static_cast<std::size_t>(high - low)),
                    span(node));
      }
      return sequence(container.object->shape, {values->begin() + low, values->begin() + high},
                      span(node));
    }
    return mystery(Reason::dynamic, std::string(span(node).text().substr(0, 60)), span(node), true);
  }
  const Val key = eval(&index);
  return map_alternatives(container, [&](const Val& c) {
    return map_alternatives(key, [&](const Val& k) { return item(c, k, node); });
  });
}

Val Interpreter::item(const Val& container, const Val& index, const Node& node) {
  if (container.is(Type::none)) {
    raise("TypeError", "'NoneType' object is not subscriptable", &node);
  }
  if (container.is(Type::external) && *container.text == "os.environ") {
    return mystery(Reason::environment,
                   "environment variable " + str(index).value_or(std::string(span(node).text())),
                   span(node), true, Hint::text);
  }
  if (container.is(Type::cls) || container.is(Type::external)) {
    return container;  // a generic alias
  }
  const std::vector<Val>* values = elements(container);
  if (values && index.is(Type::integer)) {
    const auto size = static_cast<std::int64_t>(values->size());
    const std::int64_t at = index.integer < 0 ? index.integer + size : index.integer;
    if (at < 0 || at >= size) {
      raise("IndexError", "list index out of range", &node);
    }
    return (*values)[static_cast<std::size_t>(at)];
  }
  if (container.is(Type::object) && container.object->shape == Shape::dict) {
    bool certain = false;
    if (const Val* found = dict_get(*container.object, index, certain)) {
      return *found;
    }
    if (certain) {
      raise("KeyError", str(index).value_or("key"), &node);
    }
  }
  if (container.is(Type::text) && index.is(Type::integer)) {
    const auto size = static_cast<std::int64_t>(container.text->size());
    const std::int64_t at = index.integer < 0 ? index.integer + size : index.integer;
    if (at < 0 || at >= size) {
      raise("IndexError", "string index out of range", &node);
    }
    return text(container.text->substr(static_cast<std::size_t>(at), 1), span(node));
  }
  if (container.is(Type::object) && container.object->shape == Shape::instance) {
    if (const Function* getter = method(*container.object->cls, names_.intern("__getitem__"))) {
      Arguments given;
      given.positional.push_back({index, 0, {}, span(*node.kids[1])});
      return call_function(*getter, given, node, &container);
    }
  }
  // Any of the elements: what is stored into it later may reach each of them.
  if (container.is(Type::object) && container.object->items &&
      container.object->items->values.size() <= 8 && !container.object->havoc) {
    const std::vector<Val>& all = container.object->items->values;
    std::optional<Val> any;
    for (const Val& value : all) {
      any = any ? join(*any, value) : value;
    }
    if (any) {
      return *any;
    }
  }
  havoc(container, Reason::dynamic, "an element that is not known", span(node));
  return mystery(Reason::dynamic, std::string(span(node).text().substr(0, 60)), span(node));
}

void Interpreter::set_item(const Val& container, const Val& index, const Val& value,
                           const Node& node) {
  if (container.is(Type::alternatives)) {
    for (const Val& one : container.any->values) {
      havoc(one, Reason::branch, "an element set on one of several objects", span(node));
    }
    return;
  }
  if (!container.is(Type::object)) {
    return;
  }
  Object& target = *container.object;
  if (target.shape == Shape::dict && index.is_scalar()) {
    Items items = *target.items;
    for (std::size_t i = 0; i < items.keys.size(); ++i) {
      if (equal(items.keys[i], index) == std::optional(true)) {
        items.values[i] = value;
        set_items(target, std::move(items));
        return;
      }
    }
    items.keys.push_back(index);
    items.values.push_back(value);
    set_items(target, std::move(items));
    return;
  }
  if (target.shape == Shape::list && index.is(Type::integer) && !target.havoc) {
    Items items = *target.items;
    const auto size = static_cast<std::int64_t>(items.values.size());
    const std::int64_t at = index.integer < 0 ? index.integer + size : index.integer;
    if (at < 0 || at >= size) {
      raise("IndexError", "list assignment index out of range", &node);
    }
    items.values[static_cast<std::size_t>(at)] = value;
    set_items(target, std::move(items));
    return;
  }
  havoc(container, Reason::dynamic, "an element that is not known was set", span(node));
}

const std::vector<Val>* Interpreter::elements(const Val& value) {
  return is_sequence(value) && !value.object->havoc ? &value.object->items->values : nullptr;
}

std::optional<std::vector<Val>> Interpreter::iterate(const Val& value) {
  if (const std::vector<Val>* all = elements(value)) {
    return *all;
  }
  if (value.is(Type::object) && value.object->shape == Shape::dict && !value.object->havoc) {
    return value.object->items->keys;
  }
  if (value.is(Type::text) && value.text->size() <= limits_.iterations) {
    std::vector<Val> letters;
    for (char c : *value.text) {
      if (static_cast<unsigned char>(c) >= 0x80) {
        return std::nullopt;
      }
      letters.push_back(text(std::string(1, c), value.where));
    }
    return letters;
  }
  if (value.is(Type::cls) && value.cls->is_enum) {
    std::vector<Val> members;
    for (Name name : value.cls->members) {
      if (auto member = class_attribute(*value.cls, name)) {
        members.push_back(*member);
      }
    }
    return members;
  }
  if (value.is(Type::none) || value.is(Type::integer) || value.is(Type::real) ||
      value.is(Type::boolean)) {
    raise("TypeError", "not iterable");
  }
  return std::nullopt;
}

const Val* Interpreter::dict_get(const Object& object, const Val& key, bool& certain) {
  certain = !object.havoc && key.is_scalar();
  for (std::size_t i = 0; i < object.items->keys.size(); ++i) {
    const std::optional<bool> found = equal(object.items->keys[i], key);
    if (found == std::optional(true)) {
      if (object.havoc) {
        certain = false;
      }
      return &object.items->values[i];
    }
    certain = certain && found;
  }
  return nullptr;
}

}  // namespace shardlint::python
