#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "frontend/python/eval.h"

namespace shardlint::python {

Val Interpreter::call_external(const std::string& name, const Arguments& given, const Node& node) {
  if (name.starts_with("builtins.")) {
    if (auto value = call_builtin(std::string_view(name).substr(9), given, node)) {
      return *value;
    }
    return unknown_call(name.substr(9), given, node, true);
  }
  if (auto value = call_library(name, given, node)) {
    return *value;
  }
  return unknown_call(name, given, node, false);
}

// object.__setattr__ and the like: the field itself, without the class's own __setattr__.
void Interpreter::raw_set(const Val& self, const Val& name, const Val& value) {
  if (!self.is(Type::object)) {
    return;
  }
  if (!name.is(Type::text)) {
    havoc(self, Reason::dynamic, "an attribute that is not known was set", name.where);
    return;
  }
  const Name field = names_.intern(*name.text);
  if (assigning_) {
    const CallSite* here = site_;
    site_ = assigning_->site;
    set_field(*self.object, field, value, assigning_->key, assigning_->value_span,
              assigning_->name == field ? "" : "set together with another field");
    site_ = here;
  } else {
    set_field(*self.object, field, value, name.where, value.where);
  }
}

std::optional<Val> Interpreter::call_builtin(std::string_view name, const Arguments& given,
                                             const Node& node) {
  const Span where = span(node);
  const auto positional = [&](std::size_t i) -> const Val* {
    return i < given.positional.size() ? &given.positional[i].value : nullptr;
  };
  const Val* first = positional(0);
  const auto integer = [&](std::int64_t value) {
    Val made;
    made.type = Type::integer;
    made.integer = value;
    made.where = where;
    return made;
  };
  if (given.open) {
    return unknown_call(std::string(name), given, node, name != "setattr");
  }
  if (name == "getattr" && first && positional(1)) {
    const Val* fallback = positional(2);
    return map_alternatives(*first, [&](const Val& object) -> Val {
      if (!positional(1)->is(Type::text)) {
        havoc(object, Reason::dynamic, "reached through getattr()", where);
        return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where);
      }
      const Name field = names_.intern(*positional(1)->text);
      try {
        if (auto value = try_attribute(object, field, &node)) {
          return *value;
        }
      } catch (const Raise& raised) {
        if (!fallback || raised.type != "AttributeError") {
          throw;
        }
      }
      if (fallback) {
        return *fallback;
      }
      raise("AttributeError", "no attribute " + *positional(1)->text, &node);
    });
  }
  if (name == "hasattr" && first && positional(1)) {
    if (!positional(1)->is(Type::text)) {
      return yes_no(std::nullopt, where, "hasattr()");
    }
    return yes_no(has_attribute(*first, names_.intern(*positional(1)->text)), where, "hasattr()");
  }
  if (name == "setattr" && given.positional.size() == 3) {
    if (positional(1)->is(Type::text)) {
      set_attribute(*first, names_.intern(*positional(1)->text), *positional(2),
                    given.positional[1].span, given.positional[2].span, &node);
    } else {
      havoc(*first, Reason::dynamic, "an attribute that is not known was set", where);
    }
    return Val{};
  }
  if (name == "object.__setattr__" || name == "super.__setattr__") {
    if (given.positional.size() == 3) {
      raw_set(*first, *positional(1), *positional(2));
    }
    return Val{};
  }
  if (name == "object.__getattribute__" && positional(1) && positional(1)->is(Type::text)) {
    const Name field = names_.intern(*positional(1)->text);
    if (first->is(Type::object) && first->object->shape == Shape::instance) {
      if (const Field* found = first->object->find(field)) {
        return found->cell.value;
      }
      if (auto value = default_of(*first->object, field)) {
        return value;
      }
      if (!first->object->havoc) {
        raise("AttributeError", "no attribute " + *positional(1)->text, &node);
      }
    }
    return mystery(Reason::dynamic, "object.__getattribute__()", where);
  }
  if (name == "delattr") {
    if (first) {
      havoc(*first, Reason::dynamic, "an attribute was deleted", where);
    }
    return Val{};
  }
  if (name == "isinstance" && positional(1)) {
    return yes_no(is_instance(*first, *positional(1)), where, "isinstance()");
  }
  if (name == "issubclass" && positional(1)) {
    return yes_no(first->is(Type::cls) ? is_subclass(*first->cls, *positional(1)) : std::nullopt,
                  where, "issubclass()");
  }
  if (name == "callable" && first) {
    switch (first->type) {
      case Type::function:
      case Type::bound:
      case Type::cls:
        return yes_no(true, where, "");
      case Type::none:
      case Type::boolean:
      case Type::integer:
      case Type::real:
      case Type::text:
        return yes_no(false, where, "");
      default:
        return yes_no(std::nullopt, where, "callable()");
    }
  }
  if (name == "len" && first) {
    if (first->is(Type::text)) {
      return std::all_of(first->text->begin(), first->text->end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x80; })
                 ? integer(static_cast<std::int64_t>(first->text->size()))
                 : mystery(Reason::dynamic, "len()", where, true, Hint::integer);
    }
    if (first->is(Type::object) && first->object->items && !first->object->havoc &&
        first->object->shape != Shape::set) {
      return integer(static_cast<std::int64_t>(first->object->items->values.size()));
    }
    return mystery(Reason::dynamic, "len()", where, true, Hint::integer);
  }
  if (name == "bool") {
    return first ? yes_no(truth(*first), where, "bool()") : yes_no(false, where, "");
  }
  if (name == "str") {
    if (!first) {
      return text("", where);
    }
    auto value = str(*first);
    return value ? text(*value, where)
                 : mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true,
                           Hint::text);
  }
  if (name == "repr" && first) {
    auto value = repr(*first);
    return value ? text(*value, where)
                 : mystery(Reason::dynamic, "repr()", where, true, Hint::text);
  }
  if (name == "int" && first && given.positional.size() == 1) {
    if (first->is(Type::integer)) {
      return *first;
    }
    if (first->is(Type::boolean)) {
      return integer(first->boolean);
    }
    if (first->is(Type::real) && std::abs(first->real) < 9e15) {
      return integer(static_cast<std::int64_t>(first->real));
    }
    if (first->is(Type::text)) {
      if (auto value = to_integer(trim(*first->text))) {
        return integer(*value);
      }
      raise("ValueError", "not an integer", &node);
    }
    if (first->is(Type::none)) {
      raise("TypeError", "int() of None", &node);
    }
    return mystery(first->is(Type::unknown) ? first->mystery->reason : Reason::dynamic,
                   std::string(where.text().substr(0, 60)), where, true, Hint::integer);
  }
  if (name == "float" && first) {
    Val made;
    made.type = Type::real;
    made.where = where;
    if (first->is(Type::real)) {
      return *first;
    }
    if (first->is(Type::integer) || first->is(Type::boolean)) {
      made.real = first->is(Type::integer) ? static_cast<double>(first->integer) : first->boolean;
      return made;
    }
    if (first->is(Type::text)) {
      if (auto value = to_double(trim(*first->text))) {
        made.real = *value;
        return made;
      }
    }
    return mystery(first->is(Type::unknown) ? first->mystery->reason : Reason::dynamic,
                   std::string(where.text().substr(0, 60)), where, true, Hint::real);
  }
  if (name == "list" || name == "tuple" || name == "set" || name == "frozenset" ||
      name == "sorted" || name == "reversed") {
    const Shape shape = name == "tuple"                        ? Shape::tuple
                        : name == "set" || name == "frozenset" ? Shape::set
                                                               : Shape::list;
    if (!first) {
      return sequence(shape, {}, where);
    }
    auto all = iterate(*first);
    if (!all) {
      return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true,
                     Hint::object);
    }
    if (name == "reversed") {
      std::reverse(all->begin(), all->end());
    }
    if (name == "sorted") {
      const bool numbers =
          std::all_of(all->begin(), all->end(), [](const Val& v) { return v.is(Type::integer); });
      const bool texts =
          std::all_of(all->begin(), all->end(), [](const Val& v) { return v.is(Type::text); });
      if (!given.keywords.empty() || (!numbers && !texts)) {
        return mystery(Reason::dynamic, "sorted()", where, true, Hint::object);
      }
      std::stable_sort(all->begin(), all->end(), [&](const Val& a, const Val& b) {
        return numbers ? a.integer < b.integer : *a.text < *b.text;
      });
    }
    if (shape == Shape::set) {
      std::vector<Val> unique;
      for (const Val& one : *all) {
        const bool seen = std::any_of(unique.begin(), unique.end(), [&](const Val& other) {
          return equal(one, other) == std::optional(true);
        });
        if (!seen) {
          unique.push_back(one);
        }
      }
      *all = std::move(unique);
    }
    return sequence(shape, std::move(*all), where);
  }
  if (name == "dict") {
    Val made = dict({}, {}, where);
    if (first) {
      if (first->is(Type::object) && first->object->shape == Shape::dict) {
        made.object->items = first->object->items;
        made.object->havoc = first->object->havoc;
      } else {
        made.object->havoc = keep(Mystery{Reason::dynamic, "dict()", where, true, Hint::object});
      }
    }
    Items items = *made.object->items;
    for (const Argument& argument : given.keywords) {
      items.keys.push_back(text(std::string(names_.text(argument.name)), argument.key));
      items.values.push_back(argument.value);
    }
    made.object->items = keep(std::move(items));
    return made;
  }
  if (name == "range" && first) {
    std::int64_t low = 0, high = 0, step = 1;
    for (const Argument& argument : given.positional) {
      if (!argument.value.is(Type::integer)) {
        return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true,
                       Hint::object);
      }
    }
    high = first->integer;
    if (positional(1)) {
      low = high;
      high = positional(1)->integer;
      step = positional(2) ? positional(2)->integer : 1;
    }
    std::vector<Val> all;
    if (step == 0) {
      raise("ValueError", "range() with step 0", &node);
    }
    for (std::int64_t i = low; (step > 0 ? i < high : i > high) && all.size() <= limits_.items;) {
      all.push_back(integer(i));
      if (__builtin_add_overflow(i, step, &i)) {
        break;
      }
    }
    return sequence(Shape::list, std::move(all), where);
  }
  if (name == "enumerate" && first) {
    const Val* start = given.get(1, names_.intern("start"));
    const auto all = iterate(*first);
    if (!all || (start && !start->is(Type::integer))) {
      havoc(*first, Reason::dynamic, "elements of an unknown iterable", where);
      return mystery(Reason::dynamic, "enumerate()", where, true, Hint::object);
    }
    std::vector<Val> pairs;
    std::int64_t at = start ? start->integer : 0;
    for (const Val& one : *all) {
      pairs.push_back(sequence(Shape::tuple, {integer(at++), one}, where));
    }
    return sequence(Shape::list, std::move(pairs), where);
  }
  if (name == "zip") {
    std::vector<std::vector<Val>> columns;
    std::size_t length = given.positional.empty() ? 0 : SIZE_MAX;
    for (const Argument& argument : given.positional) {
      auto all = iterate(argument.value);
      if (!all) {
        return unknown_call("zip", given, node, false);
      }
      length = std::min(length, all->size());
      columns.push_back(std::move(*all));
    }
    std::vector<Val> rows;
    for (std::size_t i = 0; i < length; ++i) {
      std::vector<Val> row;
      for (const auto& column : columns) {
        row.push_back(column[i]);
      }
      rows.push_back(sequence(Shape::tuple, std::move(row), where));
    }
    return sequence(Shape::list, std::move(rows), where);
  }
  if ((name == "min" || name == "max" || name == "sum" || name == "any" || name == "all") &&
      first) {
    std::vector<Val> all;
    if (given.positional.size() == 1) {
      auto elements = iterate(*first);
      if (!elements) {
        return name == "any" || name == "all"
                   ? yes_no(std::nullopt, where, "any or all of an unknown list")
                   : mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true);
      }
      all = std::move(*elements);
    } else {
      for (const Argument& argument : given.positional) {
        all.push_back(argument.value);
      }
    }
    if (name == "any" || name == "all") {
      const bool stop = name == "any";
      bool certain = true;
      for (const Val& one : all) {
        const std::optional<bool> decided = truth(one);
        if (decided == std::optional(stop)) {
          return yes_no(stop, where, "");
        }
        certain = certain && decided;
      }
      return yes_no(certain ? std::optional(!stop) : std::nullopt, where, "any or all");
    }
    if (!given.keywords.empty() || all.empty()) {
      return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where);
    }
    Val best = name == "sum" ? integer(0) : all[0];
    for (const Val& one : all) {
      if (name == "sum") {
        best = binary(Op::add, best, one, where);
        continue;
      }
      const std::optional<bool> better = compare(name == "min" ? Op::less : Op::greater, one, best);
      if (!better) {
        return mystery(Reason::dynamic, std::string(where.text().substr(0, 60)), where, true);
      }
      best = *better ? one : best;
    }
    return best;
  }
  if (name == "abs" && first && first->is(Type::integer) && first->integer > INT64_MIN) {
    return integer(std::abs(first->integer));
  }
  if (name == "divmod" && given.positional.size() == 2) {
    return sequence(Shape::tuple,
                    {binary(Op::floor_divide, *first, *positional(1), where),
                     binary(Op::modulo, *first, *positional(1), where)},
                    where);
  }
  if (name == "round" && first && given.positional.size() == 1 && first->is(Type::integer)) {
    return *first;
  }
  if (name == "type" && first && given.positional.size() == 1) {
    if (first->is(Type::object) && first->object->shape == Shape::instance) {
      Val made;
      made.type = Type::cls;
      made.cls = first->object->cls;
      return made;
    }
    return mystery(Reason::dynamic, "type()", where, true, Hint::object);
  }
  if (name == "vars" && first) {
    havoc(*first, Reason::dynamic, "reached through vars()", where);
    return mystery(Reason::dynamic, "vars()", where, true, Hint::object);
  }
  if (name == "print" || name == "exit" || name == "quit") {
    if (name != "print") {
      raise("SystemExit", "", &node);
    }
    return Val{};
  }
  if (name == "super" || name == "id" || name == "hash" || name == "open" || name == "input" ||
      name == "format" || name == "round" || name == "abs" || name == "ord" || name == "chr" ||
      name == "hex" || name == "pow" || name == "dir" || name == "type") {
    return mystery(Reason::dynamic, std::string(name) + "()", where, true);
  }
  if (name == "dict.fromkeys" || name == "str.join") {
    return mystery(Reason::dynamic, std::string(name) + "()", where, true);
  }
  if (name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Warning")) {
    return opaque(std::string(name), where);
  }
  if (name == "map" || name == "filter" || name == "iter" || name == "next" || name == "exec" ||
      name == "eval" || name == "globals" || name == "locals" || name == "__import__") {
    return unknown_call(std::string(name), given, node, false);
  }
  return std::nullopt;
}

}  // namespace shardlint::python
