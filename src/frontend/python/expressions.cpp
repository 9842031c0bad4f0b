#include "frontend/python/eval.h"

namespace shardlint::python {

Val Interpreter::eval(const Node* node) {
  step();
  return eval_inner(*node);
}

Val Interpreter::eval_inner(const Node& node) {
  switch (node.tag) {
    case Tag::constant: {
      Val made;
      made.where = span(node);
      if (const bool* b = node.value->if_bool()) {
        made.type = Type::boolean;
        made.boolean = *b;
      } else if (const std::int64_t* i = node.value->if_integer()) {
        made.type = Type::integer;
        made.integer = *i;
      } else if (const double* d = node.value->if_double()) {
        made.type = Type::real;
        made.real = *d;
      } else if (const std::string* s = node.value->if_string()) {
        made.type = Type::text;
        made.text = s;
      }
      return made;
    }
    case Tag::name:
      return name(node);
    case Tag::attribute: {
      Val value = attribute(eval(node.kids[0]), node.name, &node);
      return value;
    }
    case Tag::call:
      return call(node);
    case Tag::subscript:
      return subscript(node);
    case Tag::fstring:
      return fstring(node);
    case Tag::tuple:
    case Tag::list:
    case Tag::set: {
      std::vector<Val> values;
      bool certain = true;
      for (const Node* kid : node.kids) {
        if (kid->tag != Tag::star) {
          values.push_back(eval(kid));
        } else if (auto inner = iterate(eval(kid->kids[0]))) {
          values.insert(values.end(), inner->begin(), inner->end());
        } else {
          certain = false;
        }
      }
      const Shape shape = node.tag == Tag::tuple  ? Shape::tuple
                          : node.tag == Tag::list ? Shape::list
                                                  : Shape::set;
      Val made = sequence(shape, std::move(values), span(node));
      if (!certain && made.is(Type::object)) {
        made.object->havoc = keep(Mystery{Reason::dynamic, "an unknown number of elements",
                                          span(node), true, Hint::object});
      }
      return made;
    }
    case Tag::dict:
      return dict_literal(node);
    case Tag::unary: {
      const Val value = eval(node.kids[0]);
      return map_alternatives(value, [&](const Val& v) { return unary(node.op, v, span(node)); });
    }
    case Tag::binary: {
      const Val a = eval(node.kids[0]);
      const Val b = eval(node.kids[1]);
      return map_alternatives(a, [&](const Val& x) {
        return map_alternatives(b, [&](const Val& y) { return binary(node.op, x, y, span(node)); });
      });
    }
    case Tag::boolean:
      return boolean(node);
    case Tag::compare:
      return compare_chain(node);
    case Tag::conditional:
      return conditional(node);
    case Tag::lambda: {
      Val made;
      made.type = Type::function;
      Function function;
      function.node = &node;
      function.module = frame_->module;
      function.scope = frame_->scope;
      function.owner = frame_->function ? frame_->function->owner : nullptr;
      function.name = names_.intern("<lambda>");
      made.function = keep(function);
      made.where = span(node);
      return made;
    }
    case Tag::comprehension:
      return comprehension(node);
    case Tag::named: {
      const Val value = eval(node.kids[0]);
      bind(node.name, value);
      return value;
    }
    case Tag::star:
    case Tag::double_star:
    case Tag::opaque:
      for (const Node* kid : node.kids) {
        if (kid) {
          eval(kid);
        }
      }
      return mystery(Reason::dynamic, std::string(span(node).text().substr(0, 60)), span(node));
    default:
      return mystery(Reason::dynamic, std::string(span(node).text().substr(0, 60)), span(node));
  }
}

Val Interpreter::name(const Node& node) {
  for (Object* scope = frame_->scope; scope; scope = scope->parent) {
    if (const Field* field = scope->find(node.name)) {
      return field->cell.value;
    }
    if (scope->havoc) {
      return mystery(scope->havoc->reason, scope->havoc->detail, scope->havoc->where);
    }
  }
  if (frame_->class_body) {
    if (auto value = class_attribute(*frame_->class_body, node.name)) {
      return *value;
    }
  }
  return global(*frame_->module, node.name);
}

Val Interpreter::fstring(const Node& node) {
  std::string out;
  bool known = true;
  for (const Node* part : node.kids) {
    if (part->tag == Tag::constant) {
      out += *part->value->if_string();
      continue;
    }
    if (part->tag != Tag::interpolation) {
      known = false;
      continue;
    }
    const Val value = eval(part->kids[0]);
    std::optional<std::string> piece;
    if (part->text.empty() || part->text == "!s") {
      piece = str(value);
    } else if (part->text == "!r") {
      piece = repr(value);
    } else if (part->text.starts_with(":") && value.is(Type::integer)) {
      const std::string_view format = part->text.substr(1);
      if (format == "d" || format.empty()) {
        piece = str(value);
      } else if (format.size() == 3 && format[0] == '0' && format[2] == 'd' && value.integer >= 0) {
        std::string digits = std::to_string(value.integer);
        const auto width = static_cast<std::size_t>(format[1] - '0');
        piece = std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
      }
    }
    known = known && piece;
    out += piece.value_or("");
  }
  if (!known) {
    return mystery(Reason::dynamic, std::string(span(node).text().substr(0, 80)), span(node), true,
                   Hint::text);
  }
  return text(std::move(out), span(node));
}

Val Interpreter::boolean(const Node& node) {
  const Val left = eval(node.kids[0]);
  const bool stop_on = node.op == Op::or_;
  const std::optional<bool> decided = truth(left);
  if (decided) {
    return *decided == stop_on ? left : eval(node.kids[1]);
  }
  // The left value holds only where it stops the evaluation.
  Val kept = left;
  if (left.is(Type::alternatives)) {
    std::optional<Val> some;
    for (const Val& one : left.any->values) {
      if (truth(one) != std::optional(!stop_on)) {
        some = some ? join(*some, one) : one;
      }
    }
    kept = some.value_or(left);
  } else if (left.is(Type::unknown) && left.mystery->hint == Hint::boolean) {
    kept = Val{};
    kept.type = Type::boolean;
    kept.boolean = stop_on;
  } else if (left.is(Type::unknown) && stop_on && !left.mystery->not_null) {
    Mystery sure = *left.mystery;  // a value that is true is not None
    sure.not_null = true;
    kept.mystery = keep(std::move(sure));
  }
  return fork({[&] {
                 assume(*node.kids[0], stop_on);
                 return kept;
               },
               [&] {
                 assume(*node.kids[0], !stop_on);
                 return eval(node.kids[1]);
               }});
}

Val Interpreter::compare_chain(const Node& node) {
  Val left = eval(node.kids[0]);
  Val result;
  for (std::size_t i = 0; i + 1 < node.kids.size(); ++i) {
    const Val right = eval(node.kids[i + 1]);
    const Op op = static_cast<Op>(node.text[i]);
    result = map_alternatives(left, [&](const Val& a) {
      return map_alternatives(right, [&](const Val& b) {
        return yes_no(compare(op, a, b), span(node), "a comparison");
      });
    });
    const std::optional<bool> decided = truth(result);
    if (i + 2 < node.kids.size()) {
      if (!decided) {
        return yes_no(std::nullopt, span(node), "a comparison");
      }
      if (!*decided) {
        return result;
      }
    }
    left = right;
  }
  return result;
}

Val Interpreter::conditional(const Node& node) {
  const std::optional<bool> decided = truth(eval(node.kids[1]));
  if (decided) {
    return eval(node.kids[*decided ? 0 : 2]);
  }
  return fork({[&] {
                 assume(*node.kids[1], true);
                 return eval(node.kids[0]);
               },
               [&] {
                 assume(*node.kids[1], false);
                 return eval(node.kids[2]);
               }});
}

// False when some iterable or test is unknown.
bool Interpreter::comprehend(const Node& node, std::size_t clause, std::vector<Val>& keys,
                             std::vector<Val>& values) {
  if (clause == node.kids.size()) {
    const Node& element = *node.kids[0];
    if (values.size() >= limits_.items) {
      return false;
    }
    if (element.tag == Tag::pair) {
      const Val key = eval(element.kids[0]);
      if (!key.is_scalar()) {
        return false;
      }
      keys.push_back(key);
      values.push_back(eval(element.kids[1]));
    } else {
      values.push_back(eval(&element));
    }
    return true;
  }
  const Node& part = *node.kids[clause];
  if (part.tag == Tag::comp_if) {
    const std::optional<bool> decided = truth(eval(part.kids[0]));
    if (!decided) {
      // What the element would do is done once, unseen, so that its effects are not missed.
      return false;
    }
    return !*decided || comprehend(node, clause + 1, keys, values);
  }
  const Val iterable = eval(part.kids[1]);
  const auto all = iterate(iterable);
  if (!all) {
    havoc(iterable, Reason::dynamic, "elements of an unknown iterable", span(part));
    return false;
  }
  for (const Val& one : *all) {
    assign(*part.kids[0], one, {});
    if (!comprehend(node, clause + 1, keys, values)) {
      return false;
    }
  }
  return true;
}

Val Interpreter::comprehension(const Node& node) {
  Object scope;
  scope.shape = Shape::scope;
  scope.parent = frame_->scope;
  Object* outer = frame_->scope;
  frame_->scope = keep(std::move(scope));
  std::vector<Val> keys, values;
  bool known = false;
  try {
    known = comprehend(node, 1, keys, values);
  } catch (...) {
    frame_->scope = outer;
    throw;
  }
  frame_->scope = outer;
  if (!known) {
    return mystery(Reason::dynamic, std::string(span(node).text().substr(0, 80)), span(node), true,
                   Hint::object);
  }
  if (node.op == Op::dict) {
    Val made = dict({}, {}, span(node));
    Items items;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      bool found = false;
      for (std::size_t j = 0; j < items.keys.size(); ++j) {
        if (equal(items.keys[j], keys[i]) == std::optional(true)) {
          items.values[j] = values[i];
          found = true;
        }
      }
      if (!found) {
        items.keys.push_back(keys[i]);
        items.values.push_back(values[i]);
      }
    }
    made.object->items = keep(std::move(items));
    return made;
  }
  return sequence(node.op == Op::set ? Shape::set : Shape::list, std::move(values), span(node));
}

Val Interpreter::map_alternatives(const Val& value, const std::function<Val(const Val&)>& f) {
  if (!value.is(Type::alternatives)) {
    return f(value);
  }
  std::vector<std::function<Val()>> ways;
  for (const Val& one : value.any->values) {
    ways.push_back([&f, one] { return f(one); });
  }
  return fork(ways);
}

Val Interpreter::yes_no(std::optional<bool> value, const Span& where, const char* what) {
  if (!value) {
    return mystery(Reason::branch, what, where, true, Hint::boolean);
  }
  Val made;
  made.type = Type::boolean;
  made.boolean = *value;
  made.where = where;
  return made;
}

}  // namespace shardlint::python
