// Assignment: names, attributes, items and what is deleted.
#include "frontend/python/eval.h"

namespace shardlint::python {

void Interpreter::bind(Name name, const Val& value) {
  Object* scope = frame_->scope;
  if (frame_->globals.count(name) != 0) {
    Object* outer = scope->parent;
    while (outer && !outer->find(name)) {
      outer = outer->parent;
    }
    scope = outer ? outer : frame_->module->globals;
  }
  SlotValue cell;
  cell.cell = {value, nullptr, true};
  journal_.set({scope, Part::field, name}, cell);
}

void Interpreter::assign(const Node& target, const Val& value, const Span& value_span) {
  switch (target.tag) {
    case Tag::name:
      bind(target.name, value);
      return;
    case Tag::attribute: {
      const Val object = place(*target.kids[0]);
      set_attribute(object, target.name, value, span(target), value_span, &target);
      return;
    }
    case Tag::subscript: {
      const Val container = eval(target.kids[0]);
      const Node& index = *target.kids[1];
      if (index.tag == Tag::slice) {
        havoc(container, Reason::dynamic, "a slice was assigned", span(target));
      } else {
        set_item(container, eval(&index), value, target);
      }
      return;
    }
    case Tag::star:
      assign(*target.kids[0], value, value_span);
      return;
    case Tag::tuple:
    case Tag::list: {
      std::size_t stars = 0, star_at = 0;
      for (std::size_t i = 0; i < target.kids.size(); ++i) {
        if (target.kids[i]->tag == Tag::star) {
          ++stars;
          star_at = i;
        }
      }
      const auto all = iterate(value);
      const std::size_t n = target.kids.size();
      if (all && stars == 0 && all->size() == n) {
        for (std::size_t i = 0; i < n; ++i) {
          assign(*target.kids[i], (*all)[i], value_span);
        }
      } else if (all && stars == 1 && all->size() + 1 >= n) {
        const std::size_t middle = all->size() + 1 - n;
        for (std::size_t i = 0; i < star_at; ++i) {
          assign(*target.kids[i], (*all)[i], value_span);
        }
        const auto first = all->begin() + static_cast<std::ptrdiff_t>(star_at);
        assign(
            *target.kids[star_at],
            sequence(Shape::list, {first, first + static_cast<std::ptrdiff_t>(middle)}, value_span),
            value_span);
        for (std::size_t i = star_at + 1; i < n; ++i) {
          assign(*target.kids[i], (*all)[i + middle - 1], value_span);
        }
      } else if (all && stars == 0) {
        raise("ValueError", "wrong number of values to unpack", &target);
      } else {
        havoc(value, Reason::dynamic, "unpacked from an unknown value", value_span);
        for (const Node* part : target.kids) {
          assign(*part, mystery(Reason::dynamic, "unpacked from an unknown value", value_span),
                 value_span);
        }
      }
      return;
    }
    default:
      return;
  }
}

// The object that an assignment goes to. What an object of unknown make holds under a name becomes
// an object of its own, so that what is assigned to it is not lost.
Val Interpreter::place(const Node& node) {
  if (node.tag != Tag::attribute) {
    return eval(&node);
  }
  const Val holder = place(*node.kids[0]);
  if (!holder.is(Type::object)) {
    return attribute(holder, node.name, &node);
  }
  Object& object = *holder.object;
  const Field* field = object.find(node.name);
  const bool unknown =
      field ? field->cell.value.is(Type::unknown) : object.shape == Shape::opaque && object.havoc;
  if (!unknown) {
    return attribute(holder, node.name, &node);
  }
  return part_of(holder, node.name, span(node));
}

Val Interpreter::part_of(const Val& holder, Name name, const Span& where) {
  Object& object = *holder.object;
  const Field* field = object.find(name);
  Val part = opaque(object.label + "." + std::string(names_.text(name)), where);
  const Mystery* why =
      field && field->cell.value.is(Type::unknown) ? field->cell.value.mystery : object.havoc;
  part.object->havoc = keep(Mystery{why->reason, part.object->label, why->where, false, {}});
  SlotValue cell;
  cell.cell = {part, field ? field->cell.write : nullptr, true};
  journal_.set({&object, Part::field, name}, cell);
  return part;
}

void Interpreter::delete_target(const Node& target) {
  if (target.tag == Tag::name) {
    Object* scope = frame_->scope;
    if (scope->find(target.name)) {
      journal_.set({scope, Part::field, target.name}, SlotValue{});
    }
  } else if (target.tag == Tag::subscript) {
    const Val container = eval(target.kids[0]);
    if (target.kids[1]->tag == Tag::slice) {
      havoc(container, Reason::dynamic, "a slice was deleted", span(target));
      return;
    }
    const Val index = eval(target.kids[1]);
    if (container.is(Type::object) && container.object->shape == Shape::dict && index.is_scalar()) {
      Items items = *container.object->items;
      for (std::size_t i = 0; i < items.keys.size(); ++i) {
        if (equal(items.keys[i], index) == std::optional(true)) {
          items.keys.erase(items.keys.begin() + static_cast<std::ptrdiff_t>(i));
          items.values.erase(items.values.begin() + static_cast<std::ptrdiff_t>(i));
          set_items(*container.object, std::move(items));
          return;
        }
      }
    } else {
      havoc(container, Reason::dynamic, "an element was deleted", span(target));
    }
  } else if (target.tag == Tag::attribute) {
    const Val object = eval(target.kids[0]);
    if (object.is(Type::object)) {
      set_field(*object.object, target.name, mystery(Reason::dynamic, "deleted here", span(target)),
                span(target), span(target));
    }
  }
}

}  // namespace shardlint::python
