#include "frontend/python/heap.h"

#include <unordered_map>
#include <unordered_set>

namespace shardlint::python {
namespace {

struct SlotHash {
  std::size_t operator()(const Slot& slot) const {
    const auto address = reinterpret_cast<std::size_t>(slot.object);
    return (address >> 4) * 31 + slot.name * 3 + static_cast<std::size_t>(slot.part);
  }
};

}  // namespace

SlotValue Journal::read(const Slot& slot) {
  SlotValue value;
  switch (slot.part) {
    case Part::field:
      if (const Field* field = slot.object->find(slot.name)) {
        value.cell = field->cell;
      }
      break;
    case Part::items:
      value.items = slot.object->items;
      break;
    case Part::havoc:
      value.havoc = slot.object->havoc;
      break;
  }
  return value;
}

void Journal::write(const Slot& slot, const SlotValue& value) {
  switch (slot.part) {
    case Part::field:
      for (Field& field : slot.object->fields) {
        if (field.name == slot.name) {
          field.cell = value.cell;
          return;
        }
      }
      slot.object->fields.push_back({slot.name, value.cell});
      break;
    case Part::items:
      slot.object->items = value.items;
      break;
    case Part::havoc:
      slot.object->havoc = value.havoc;
      break;
  }
}

void Journal::set(const Slot& slot, const SlotValue& value) {
  entries_.push_back({slot, read(slot)});
  write(slot, value);
}

void Journal::undo(Mark mark) {
  while (entries_.size() > mark) {
    write(entries_.back().slot, entries_.back().value);
    entries_.pop_back();
  }
}

Delta Journal::changed(Mark mark) const {
  Delta delta;
  std::unordered_set<Slot, SlotHash> seen;
  for (std::size_t i = mark; i < entries_.size(); ++i) {
    if (seen.insert(entries_[i].slot).second) {
      delta.push_back({entries_[i].slot, read(entries_[i].slot)});
    }
  }
  return delta;
}

Delta Journal::before(Mark mark) const {
  Delta delta;
  std::unordered_set<Slot, SlotHash> seen;
  for (std::size_t i = mark; i < entries_.size(); ++i) {
    if (seen.insert(entries_[i].slot).second) {
      delta.push_back(entries_[i]);
    }
  }
  return delta;
}

Delta Journal::between(Mark mark, Mark later) const {
  Delta delta;
  std::unordered_map<Slot, SlotValue, SlotHash> after;  // values that were replaced later on
  for (std::size_t i = entries_.size(); i > later; --i) {
    after[entries_[i - 1].slot] = entries_[i - 1].value;
  }
  std::unordered_set<Slot, SlotHash> seen;
  for (std::size_t i = mark; i < later && i < entries_.size(); ++i) {
    const Slot& slot = entries_[i].slot;
    if (seen.insert(slot).second) {
      const auto replaced = after.find(slot);
      delta.push_back({slot, replaced == after.end() ? read(slot) : replaced->second});
    }
  }
  return delta;
}

void Journal::apply(const Delta& delta) {
  for (const Change& change : delta) {
    set(change.slot, change.value);
  }
}

}  // namespace shardlint::python
