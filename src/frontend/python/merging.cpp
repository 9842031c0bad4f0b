#include <algorithm>
#include <unordered_set>

#include "frontend/python/eval.h"

namespace shardlint::python {

// Keeps a path that leaves (returns, breaks, continues) until its function or loop is done.
void Interpreter::leave(Flow flow, Journal::Mark mark, Delta delta, const Val& value) {
  Pending pending{mark, std::move(delta), value};
  if (flow == Flow::returned || frame_->loops.empty()) {
    frame_->returns.push_back(std::move(pending));
  } else if (flow == Flow::broke) {
    frame_->loops.back()->breaks.push_back(std::move(pending));
  } else {
    frame_->loops.back()->continues.push_back(std::move(pending));
  }
}

// Undoes to a mark. Paths kept aside whose state is relative to a later one are first made relative
// to this one.
void Interpreter::take_back(Journal::Mark mark) {
  const auto rebase = [&](std::vector<Pending>& list) {
    for (Pending& pending : list) {
      if (pending.mark <= mark) {
        continue;
      }
      Delta whole = journal_.between(mark, pending.mark);
      for (Change& change : pending.delta) {
        const auto known = std::find_if(whole.begin(), whole.end(), [&](const Change& other) {
          return other.slot == change.slot;
        });
        if (known != whole.end()) {
          known->value = change.value;
        } else {
          whole.push_back(std::move(change));
        }
      }
      pending.delta = std::move(whole);
      pending.mark = mark;
    }
  };
  if (frame_) {
    rebase(frame_->returns);
    for (Loop* loop : frame_->loops) {
      rebase(loop->breaks);
      rebase(loop->continues);
    }
  }
  journal_.undo(mark);
}

Delta Interpreter::capture(Journal::Mark mark) {
  Delta delta = journal_.changed(mark);
  take_back(mark);
  return delta;
}

// Merges pending paths into the present state; when no path is alive, the last of them becomes the
// present state. False when there is nothing to go on with.
bool Interpreter::settle(std::vector<Pending>& pending, bool alive, Val* value) {
  while (!pending.empty()) {
    Pending last = std::move(pending.back());
    pending.pop_back();
    if (alive) {
      merge(last.mark, last.delta);
      if (value) {
        *value = join(*value, last.value);
      }
    } else {
      take_back(last.mark);
      journal_.apply(last.delta);
      if (value) {
        *value = last.value;
      }
      alive = true;
    }
  }
  return alive;
}

Flow Interpreter::both(const std::function<Flow()>& a, const std::function<Flow()>& b) {
  const Journal::Mark mark = journal_.mark();
  const auto attempt = [&](const std::function<Flow()>& way, Flow& flow, Raise& error) {
    try {
      flow = way();
      return true;
    } catch (const Raise& raised) {
      error = raised;
      return false;
    }
  };
  Flow flow_a = Flow::next, flow_b = Flow::next;
  Raise error_a, error_b;
  const bool lives_a = attempt(a, flow_a, error_a);
  Delta delta_a = capture(mark);
  const Val result_a = frame_->result;
  const bool lives_b = attempt(b, flow_b, error_b);
  const Val result_b = frame_->result;
  if (!lives_a && !lives_b) {
    throw error_a.type.empty() ? error_b : error_a;
  }
  if (!lives_b) {
    take_back(mark);
    journal_.apply(delta_a);
    frame_->result = result_a;
    return flow_a;
  }
  if (!lives_a) {
    return flow_b;
  }
  if (flow_a == flow_b) {
    merge(mark, delta_a);
    if (flow_a == Flow::returned) {
      frame_->result = join(result_a, result_b);
    }
    return flow_a;
  }
  // One goes on, or both leave in different ways: keep one aside.
  if (flow_a == Flow::next) {
    Delta delta_b = capture(mark);
    journal_.apply(delta_a);
    leave(flow_b, mark, std::move(delta_b), result_b);
    return flow_a;
  }
  leave(flow_a, mark, std::move(delta_a), result_a);
  return flow_b;
}

Val Interpreter::fork(const std::vector<std::function<Val()>>& ways) {
  const Journal::Mark mark = journal_.mark();
  std::vector<std::pair<Val, Delta>> lived;
  std::optional<Raise> error;
  for (const auto& way : ways) {
    try {
      const Val value = way();
      lived.emplace_back(value, capture(mark));
    } catch (const Raise& raised) {
      error = error ? error : std::optional<Raise>(raised);
      take_back(mark);
    }
  }
  if (lived.empty()) {
    throw error.value_or(Raise{"", "", {}});
  }
  journal_.apply(lived[0].second);
  Val value = lived[0].first;
  for (std::size_t i = 1; i < lived.size(); ++i) {
    merge(mark, lived[i].second);
    value = join(value, lived[i].first);
  }
  return value;
}

// The present state and the one that `other` describes, both relative to `mark`.
void Interpreter::merge(Journal::Mark mark, const Delta& other) {
  std::vector<Change> result;
  std::vector<Change> old = journal_.before(mark);
  const auto same_slot = [](const Slot& slot) {
    return [&slot](const Change& change) { return change.slot == slot; };
  };
  const bool big = old.size() > 64 && other.size() > 64;
  struct Hash {
    std::size_t operator()(const Slot& slot) const {
      return (reinterpret_cast<std::size_t>(slot.object) >> 4) * 31 + slot.name;
    }
  };
  std::unordered_set<Slot, Hash> in_other, in_old;
  if (big) {
    for (const Change& change : other) {
      in_other.insert(change.slot);
    }
    for (const Change& change : old) {
      in_old.insert(change.slot);
    }
  }
  for (const Change& change : other) {
    result.push_back(
        {change.slot, join_slot(change.slot, change.value, Journal::read(change.slot))});
  }
  for (const Change& change : old) {
    const bool both =
        big ? in_other.count(change.slot) != 0
            : std::find_if(other.begin(), other.end(), same_slot(change.slot)) != other.end();
    if (!both) {
      result.push_back(
          {change.slot, join_slot(change.slot, change.value, Journal::read(change.slot))});
    }
  }
  journal_.apply(result);
}

SlotValue Interpreter::join_slot(const Slot& slot, const SlotValue& a, const SlotValue& b) {
  SlotValue joined = b;
  switch (slot.part) {
    case Part::havoc:
      joined.havoc = a.havoc ? a.havoc : b.havoc;
      return joined;
    case Part::items: {
      if (a.items == b.items || !a.items || !b.items) {
        joined.items = a.items ? a.items : b.items;
        return joined;
      }
      Items items;
      bool alike = a.items->keys.size() == b.items->keys.size() &&
                   a.items->values.size() == b.items->values.size();
      for (std::size_t i = 0; alike && i < a.items->keys.size(); ++i) {
        alike = same(a.items->keys[i], b.items->keys[i]);
      }
      if (alike) {
        items.keys = a.items->keys;
        for (std::size_t i = 0; i < a.items->values.size(); ++i) {
          items.values.push_back(join(a.items->values[i], b.items->values[i]));
        }
      } else if (!a.items->keys.empty() || !b.items->keys.empty()) {
        // A dict: what both have is joined, what only one has may be missing.
        items = *a.items;
        const Val maybe = mystery(Reason::branch, "set on one side of a condition only", {});
        for (Val& value : items.values) {
          value = join(value, maybe);
        }
        for (std::size_t i = 0; i < b.items->keys.size(); ++i) {
          bool found = false;
          for (std::size_t j = 0; j < a.items->keys.size() && !found; ++j) {
            if (same(a.items->keys[j], b.items->keys[i])) {
              items.values[j] = join(a.items->values[j], b.items->values[i]);
              found = true;
            }
          }
          if (!found) {
            items.keys.push_back(b.items->keys[i]);
            items.values.push_back(maybe);
          }
        }
        SlotValue unsure;
        unsure.havoc = maybe.mystery;
        journal_.set({slot.object, Part::havoc, 0}, unsure);
      } else {
        // Lists of different lengths: none of it can be relied on.
        const Val maybe = mystery(Reason::branch, "a list that depends on a condition", {});
        items.values.assign(a.items->values.size(), maybe);
        SlotValue unsure;
        unsure.havoc =
            keep(Mystery{Reason::branch, "a list that depends on a condition", {}, true, {}});
        journal_.set({slot.object, Part::havoc, 0}, unsure);
      }
      joined.items = keep(std::move(items));
      return joined;
    }
    case Part::field:
      break;
  }
  const bool scope = slot.object->shape == Shape::scope;
  if (a.cell.present && b.cell.present) {
    if (a.cell.write == b.cell.write && same(a.cell.value, b.cell.value)) {
      return b;
    }
  } else if (scope) {
    return a.cell.present ? a : b;  // unbound on one side: using it there would raise
  }
  const auto value_of = [&](const SlotValue& v) {
    if (v.cell.present) {
      return v.cell.value;
    }
    if (slot.object->havoc) {
      return mystery(slot.object->havoc->reason, slot.object->havoc->detail, {});
    }
    return default_of(*slot.object, slot.name)
        .value_or(mystery(Reason::branch, "set on one side of a condition only", {}));
  };
  joined.cell.present = true;
  joined.cell.value = join(value_of(a), value_of(b));
  if (!scope) {
    const Write* first = a.cell.write ? a.cell.write : b.cell.write;
    const Write* second = a.cell.write && b.cell.write ? b.cell.write : nullptr;
    if (!first) {
      joined.cell.write = nullptr;
    } else if (second && same(a.cell.value, b.cell.value)) {
      joined.cell.write = second->order > first->order ? second : first;
    } else {
      Write write = second && second->order > first->order ? *second : *first;
      write.before = first;
      write.value = joined.cell.value;
      write.note = "depends on a condition that is not known";
      write.order = permanent_ > 0 ? 0 : ++writes_;
      joined.cell.write = keep(std::move(write));
    }
  }
  return joined;
}

bool Interpreter::same(const Val& a, const Val& b) const {
  if (a.type != b.type) {
    return false;
  }
  switch (a.type) {
    case Type::none:
      return true;
    case Type::boolean:
      return a.boolean == b.boolean;
    case Type::integer:
      return a.integer == b.integer;
    case Type::real:
      return a.real == b.real;
    case Type::text:
    case Type::external:
      return *a.text == *b.text;
    case Type::object: {
      if (a.object == b.object) {
        return true;
      }
      const Object &x = *a.object, &y = *b.object;
      const bool sequence = x.shape == Shape::list || x.shape == Shape::tuple ||
                            x.shape == Shape::set || x.shape == Shape::dict;
      if (!sequence || x.shape != y.shape || x.havoc || y.havoc ||
          x.items->values.size() != y.items->values.size() ||
          x.items->keys.size() != y.items->keys.size()) {
        return false;
      }
      for (std::size_t i = 0; i < x.items->values.size(); ++i) {
        if (!x.items->values[i].is_scalar() || !same(x.items->values[i], y.items->values[i]) ||
            (!x.items->keys.empty() && !same(x.items->keys[i], y.items->keys[i]))) {
          return false;
        }
      }
      return true;
    }
    case Type::function:
      return a.function == b.function || a.function->node == b.function->node;
    case Type::bound:
      return a.bound == b.bound;
    case Type::cls:
      return a.cls == b.cls;
    case Type::module:
      return a.module == b.module;
    case Type::unknown:
      return a.mystery == b.mystery ||
             (a.mystery->detail == b.mystery->detail && a.mystery->reason == b.mystery->reason &&
              a.mystery->not_null == b.mystery->not_null);
    case Type::alternatives: {
      if (a.any->values.size() != b.any->values.size()) {
        return false;
      }
      for (std::size_t i = 0; i < a.any->values.size(); ++i) {
        if (!same(a.any->values[i], b.any->values[i])) {
          return false;
        }
      }
      return true;
    }
  }
  return false;
}

Val Interpreter::join(const Val& a, const Val& b) {
  if (same(a, b)) {
    return a;
  }
  std::vector<Val> all;
  const auto add = [&](const Val& value) {
    for (const Val& known : all) {
      if (same(known, value)) {
        return;
      }
    }
    all.push_back(value);
  };
  for (const Val* side : {&a, &b}) {
    if (side->is(Type::alternatives)) {
      for (const Val& one : side->any->values) {
        add(one);
      }
    } else {
      add(*side);
    }
  }
  if (all.size() == 1) {
    return all[0];
  }
  // Unknown swallows scalars, but not objects: what is stored later must still reach those.
  std::optional<Val> unknown;
  bool not_null = true, objects = false;
  for (const Val& value : all) {
    if (value.is(Type::unknown)) {
      unknown = unknown.value_or(value);
      not_null = not_null && value.mystery->not_null;
    } else {
      not_null = not_null && !value.is(Type::none);
      objects = objects || value.is(Type::object);
    }
  }
  if (all.size() > 8 || (unknown && !objects)) {
    if (all.size() > 8) {
      for (const Val& value : all) {
        havoc(value, Reason::branch, "one of many objects", {});
      }
    }
    const Reason reason = unknown ? unknown->mystery->reason : Reason::branch;
    return mystery(reason, unknown ? unknown->mystery->detail : "one of many values",
                   unknown ? unknown->where : a.where, not_null);
  }
  Val made;
  made.type = Type::alternatives;
  made.any = keep(Alternatives{std::move(all)});
  made.where = b.where ? b.where : a.where;
  return made;
}

void Interpreter::havoc(const Val& value, Reason reason, const std::string& detail,
                        const Span& where) {
  std::vector<Val> work{value};
  std::unordered_set<const Object*> seen;
  const Mystery* why = nullptr;
  while (!work.empty()) {
    const Val next = work.back();
    work.pop_back();
    if (next.is(Type::alternatives)) {
      work.insert(work.end(), next.any->values.begin(), next.any->values.end());
    } else if (next.is(Type::bound)) {
      work.push_back(next.bound->self);
    }
    if (!next.is(Type::object) || !seen.insert(next.object).second) {
      continue;
    }
    Object& object = *next.object;
    if (!why) {
      why = keep(Mystery{reason, detail, where, false, Hint::none});
    }
    if (object.items) {
      work.insert(work.end(), object.items->values.begin(), object.items->values.end());
    }
    if (object.shape == Shape::tuple || object.shape == Shape::member ||
        object.shape == Shape::super || object.shape == Shape::partial) {
      continue;
    }
    SlotValue state;
    state.havoc = why;
    journal_.set({&object, Part::havoc, 0}, state);
    for (std::size_t i = 0; i < object.fields.size(); ++i) {
      const Field field = object.fields[i];
      if (!field.cell.present) {
        continue;
      }
      work.push_back(field.cell.value);
      Val unknown;
      unknown.type = Type::unknown;
      unknown.mystery = why;
      unknown.where = where;
      // An object stays reachable under its name beside whatever may have replaced it.
      const bool keeps = field.cell.value.is(Type::object);
      set_field(object, field.name, keeps ? join(field.cell.value, unknown) : unknown, where, where,
                "may be changed here");
    }
    if (object.shape == Shape::list || object.shape == Shape::dict || object.shape == Shape::set) {
      Items items;
      items.keys = object.items->keys;
      Val unknown;
      unknown.type = Type::unknown;
      unknown.mystery = why;
      items.values.assign(object.items->values.size(), unknown);
      set_items(object, std::move(items));
    }
  }
}

}  // namespace shardlint::python
