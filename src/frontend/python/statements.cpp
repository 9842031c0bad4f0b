#include "frontend/python/eval.h"

namespace shardlint::python {

Flow Interpreter::run(const Node& block) {
  for (const Node* node : block.kids) {
    const Flow flow = statement(*node);
    if (flow != Flow::next) {
      return flow;
    }
  }
  return Flow::next;
}

Flow Interpreter::statement(const Node& node) {
  step();
  switch (node.tag) {
    case Tag::expression:
      eval(node.kids[0]);
      return Flow::next;
    case Tag::assign: {
      const Val value = eval(node.kids[0]);
      for (std::size_t i = 1; i < node.kids.size(); ++i) {
        assign(*node.kids[i], value, span(*node.kids[0]));
      }
      return Flow::next;
    }
    case Tag::annotated:
      if (node.kids[0]) {
        assign(*node.kids[1], eval(node.kids[0]), span(*node.kids[0]));
      }
      return Flow::next;
    case Tag::augmented: {
      const Val old = eval(node.kids[0]);
      const Val operand = eval(node.kids[1]);
      if (node.op == Op::add && old.is(Type::object) && old.object->shape == Shape::list) {
        const auto more = iterate(operand);  // in place: everyone who holds the list sees it
        if (more && !old.object->havoc) {
          Items items = *old.object->items;
          items.values.insert(items.values.end(), more->begin(), more->end());
          set_items(*old.object, std::move(items));
        } else {
          havoc(old, Reason::dynamic, "extended by an unknown list", span(node));
        }
        return Flow::next;
      }
      const Val value = map_alternatives(old, [&](const Val& a) {
        return map_alternatives(operand,
                                [&](const Val& b) { return binary(node.op, a, b, span(node)); });
      });
      assign(*node.kids[0], value, span(*node.kids[1]));
      return Flow::next;
    }
    case Tag::return_:
      frame_->result = node.kid(0) ? eval(node.kids[0]) : Val{};
      return Flow::returned;
    case Tag::raise_: {
      std::string type = "Exception", message;
      if (const Node* what = node.kid(0)) {
        const Node* callee = what->tag == Tag::call ? what->kids[0] : what;
        type = span(*callee).text();
        if (what->tag == Tag::call && what->kids.size() > 1) {
          message = span(*what->kids[1]).text();
        }
      }
      raise(std::move(type), std::move(message), &node);
    }
    case Tag::assert_:
      if (node.kid(0)) {
        const std::optional<bool> holds = truth(eval(node.kids[0]));
        if (holds == std::optional(false)) {
          raise("AssertionError", std::string(span(*node.kids[0]).text()), &node);
        }
        assume(*node.kids[0], true);
      }
      return Flow::next;
    case Tag::if_:
      return if_statement(node);
    case Tag::for_:
      return for_statement(node);
    case Tag::while_:
      return while_statement(node);
    case Tag::try_:
      return try_statement(node);
    case Tag::with_:
      return with_statement(node);
    case Tag::function:
      define_function(node);
      return Flow::next;
    case Tag::class_:
      define_class(node);
      return Flow::next;
    case Tag::import:
      import_statement(node);
      return Flow::next;
    case Tag::import_from:
      import_from(node);
      return Flow::next;
    case Tag::global:
      for (const Node* kid : node.kids) {
        frame_->globals.insert(kid->name);
      }
      return Flow::next;
    case Tag::delete_:
      for (const Node* kid : node.kids) {
        delete_target(*kid);
      }
      return Flow::next;
    case Tag::break_:
      return Flow::broke;
    case Tag::continue_:
      return Flow::continued;
    case Tag::unread:
      unread(node);
      return Flow::next;
    default:
      return Flow::next;
  }
}

// A statement that is not understood: whatever the names in its text reach may have changed.
void Interpreter::unread(const Node& node) {
  const Span where = span(node);
  for (Object* scope = frame_->scope; scope; scope = scope->parent) {
    for (std::size_t i = 0; i < scope->fields.size(); ++i) {
      const Field field = scope->fields[i];
      if (field.cell.present &&
          where.text().find(names_.text(field.name)) != std::string_view::npos) {
        havoc(field.cell.value, Reason::dynamic, "a statement that is not understood", where);
        bind(field.name,
             field.cell.value.is(Type::object)
                 ? field.cell.value
                 : mystery(Reason::dynamic, "a statement that is not understood", where));
      }
    }
  }
}

Flow Interpreter::if_statement(const Node& node) {
  const std::optional<bool> decided = truth(eval(node.kids[0]));
  if (decided) {
    if (*decided) {
      return run(*node.kids[1]);
    }
    return node.kids[2] ? run(*node.kids[2]) : Flow::next;
  }
  return both(
      [&] {
        if (!assume(*node.kids[0], true)) {
          throw Raise{"", "", {}};
        }
        return run(*node.kids[1]);
      },
      [&] {
        if (!assume(*node.kids[0], false)) {
          throw Raise{"", "", {}};
        }
        return node.kids[2] ? run(*node.kids[2]) : Flow::next;
      });
}

Flow Interpreter::for_statement(const Node& node) {
  const Val iterable = eval(node.kids[1]);
  const auto all = iterate(iterable);
  if (!all || all->size() > limits_.iterations) {
    havoc(iterable, Reason::dynamic, "elements of an unknown iterable", span(*node.kids[1]));
    const Flow flow = weak_loop([&] {
      assign(*node.kids[0],
             mystery(Reason::dynamic, "an element of an unknown iterable", span(*node.kids[1])),
             {});
      return run(*node.kids[2]);
    });
    return flow != Flow::next || !node.kids[3] ? flow : run(*node.kids[3]);
  }
  Loop loop;
  frame_->loops.push_back(&loop);
  Flow result = Flow::next;
  try {
    bool alive = true;
    for (const Val& one : *all) {
      Flow flow = Flow::next;
      try {
        assign(*node.kids[0], one, {});
        flow = run(*node.kids[2]);
      } catch (const Raise&) {
        if (!settle(loop.continues, false, nullptr)) {
          if (!settle(loop.breaks, false, nullptr)) {
            throw;
          }
          alive = false;
          break;
        }
      }
      settle(loop.continues, true, nullptr);
      if (flow == Flow::returned) {
        // Those that broke out earlier go on after the loop; this path has left the function.
        result = Flow::returned;
        break;
      }
      if (flow == Flow::broke) {
        break;
      }
    }
    if (result == Flow::returned && !loop.breaks.empty()) {
      const Journal::Mark mark = loop.breaks.front().mark;
      const Val value = frame_->result;
      Delta delta = capture(mark);
      leave(Flow::returned, mark, std::move(delta), value);
      settle(loop.breaks, false, nullptr);
      result = Flow::next;
    } else if (alive) {
      settle(loop.breaks, true, nullptr);
    }
  } catch (...) {
    frame_->loops.pop_back();
    throw;
  }
  frame_->loops.pop_back();
  if (result == Flow::next && node.kids[3]) {
    // `else` runs unless the loop broke; both are possible only in code that no recipe has.
    return both([&] { return run(*node.kids[3]); }, [] { return Flow::next; });
  }
  return result;
}

Flow Interpreter::while_statement(const Node& node) {
  std::size_t count = 0;
  Loop loop;
  frame_->loops.push_back(&loop);
  try {
    for (;;) {
      const std::optional<bool> decided = truth(eval(node.kids[0]));
      if (!decided || ++count > limits_.iterations) {
        frame_->loops.pop_back();
        const Flow flow = weak_loop([&] {
          eval(node.kids[0]);
          return run(*node.kids[1]);
        });
        settle(loop.breaks, true, nullptr);
        return flow;
      }
      if (!*decided) {
        break;
      }
      const Flow flow = run(*node.kids[1]);
      settle(loop.continues, true, nullptr);
      if (flow == Flow::returned || flow == Flow::broke) {
        frame_->loops.pop_back();
        if (flow == Flow::broke) {
          settle(loop.breaks, true, nullptr);
        }
        return flow == Flow::broke ? Flow::next : flow;
      }
    }
    settle(loop.breaks, true, nullptr);
  } catch (...) {
    if (!frame_->loops.empty() && frame_->loops.back() == &loop) {
      frame_->loops.pop_back();
    }
    throw;
  }
  frame_->loops.pop_back();
  return node.kids[2] ? run(*node.kids[2]) : Flow::next;
}

// Zero or more times: what a second round changes again differently cannot be known.
Flow Interpreter::weak_loop(const std::function<Flow()>& body) {
  const Journal::Mark start = journal_.mark();
  Delta first;
  for (int round = 0; round < 2; ++round) {
    Loop loop;
    frame_->loops.push_back(&loop);
    const auto once = [&] {
      Flow flow = Flow::next;
      try {
        flow = body();
      } catch (const Raise&) {
        if (!settle(loop.continues, false, nullptr) && !settle(loop.breaks, false, nullptr)) {
          throw;
        }
      }
      settle(loop.continues, true, nullptr);
      settle(loop.breaks, true, nullptr);
      return flow == Flow::returned ? flow : Flow::next;
    };
    try {
      both(once, [] { return Flow::next; });
    } catch (...) {
      frame_->loops.pop_back();
      throw;
    }
    frame_->loops.pop_back();
    if (round == 0) {
      first = journal_.changed(start);
    }
  }
  for (const Change& change : journal_.changed(start)) {
    bool stable = false;
    for (const Change& earlier : first) {
      if (earlier.slot == change.slot) {
        stable = change.slot.part == Part::field
                     ? same(earlier.value.cell.value, change.value.cell.value)
                     : earlier.value.items == change.value.items;
      }
    }
    if (stable) {
      continue;
    }
    SlotValue value = change.value;
    const char* why = "changed in a loop whose rounds are not known";
    if (change.slot.part == Part::field) {
      value.cell.value = mystery(Reason::branch, why, {});
    } else {
      value.havoc = keep(Mystery{Reason::branch, why, {}});
    }
    Slot slot = change.slot;
    if (slot.part == Part::items) {
      slot.part = Part::havoc;
    }
    journal_.set(slot, value);
  }
  return Flow::next;
}

Flow Interpreter::try_statement(const Node& node) {
  const Journal::Mark mark = journal_.mark();
  bool raised = false;
  Raise error;
  Flow flow = Flow::next;
  const std::size_t handlers = node.kids.size() - 3;
  // Only imports of modules that are at hand: nothing in the body can fail.
  bool calm = handlers == 0;
  if (!calm) {
    calm = true;
    for (const Node* inner : node.kids[0]->kids) {
      if (inner->tag == Tag::import || inner->tag == Tag::import_from) {
        for (const Node* alias : inner->kids) {
          const std::string module =
              inner->tag == Tag::import
                  ? std::string(alias->text)
                  : modules_.absolute(*frame_->module, inner->level, inner->text);
          calm = calm && (modules_.find(module) != nullptr || module == "torch");
        }
      } else {
        calm = calm && (inner->tag == Tag::pass ||
                        ((inner->tag == Tag::assign || inner->tag == Tag::annotated) &&
                         (!inner->kids[0] || inner->kids[0]->tag == Tag::constant)));
      }
    }
  }
  try {
    flow = run(*node.kids[0]);
    if (flow == Flow::next && node.kids[1]) {
      flow = run(*node.kids[1]);
    }
  } catch (const Raise& raise) {
    raised = true;
    error = raise;
  }
  if (handlers > 0 && (raised || !calm)) {
    const auto handle = [&](std::size_t i) {
      const Node& handler = *node.kids[3 + i];
      if (handler.name) {
        bind(handler.name, opaque("an exception", span(handler)));
      }
      return run(*handler.kids[1]);
    };
    const std::function<Flow()> any_handler = [&]() -> Flow {
      std::function<Flow(std::size_t)> from = [&](std::size_t i) -> Flow {
        if (i + 1 == handlers) {
          return handle(i);
        }
        return both([&, i] { return handle(i); }, [&, i] { return from(i + 1); });
      };
      return from(0);
    };
    if (raised) {
      flow = any_handler();
    } else if (flow == Flow::next) {
      flow = both([] { return Flow::next; }, any_handler);
    } else {
      // The body left; a handler may still have run instead, from an unknown point of it.
      const Val value = frame_->result;
      Delta delta = journal_.changed(mark);
      const Flow left = flow;
      try {
        flow = any_handler();
        if (flow == left && flow == Flow::returned) {
          const Val other = frame_->result;
          merge(mark, delta);
          frame_->result = join(value, other);
        } else {
          leave(left, mark, std::move(delta), value);
        }
      } catch (const Raise&) {
        take_back(mark);
        journal_.apply(delta);
        frame_->result = value;
        flow = left;
      }
    }
  } else if (raised) {
    if (node.kids[2]) {
      run(*node.kids[2]);
    }
    throw error;
  }
  if (node.kids[2]) {
    const Val value = frame_->result;
    const Flow last = run(*node.kids[2]);
    if (last != Flow::next) {
      return last;
    }
    frame_->result = value;
  }
  return flow;
}

Flow Interpreter::with_statement(const Node& node) {
  for (std::size_t i = 1; i < node.kids.size(); ++i) {
    const Node& item = *node.kids[i];
    const Val context = eval(item.kids[0]);
    if (item.kids[1]) {
      const Val entered = context.is(Type::object) && context.object->shape != Shape::opaque
                              ? context
                              : mystery(Reason::dynamic, std::string(span(*item.kids[0]).text()),
                                        span(item), true, Hint::object);
      assign(*item.kids[1], entered, span(*item.kids[0]));
    }
  }
  return run(*node.kids[0]);
}

}  // namespace shardlint::python
