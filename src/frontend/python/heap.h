#pragma once
// Where values live, and the journal that lets a branch be taken back: every change of a field, of
// a list's items or of an object's state goes through Heap::change and can be undone, captured and
// applied again. That is how both sides of an undecided `if` are run and merged.

#include <deque>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/python/values.h"

namespace shardlint::python {

enum class Part : std::uint8_t { field, items, havoc };

struct Slot {
  Object* object = nullptr;
  Part part = Part::field;
  Name name = 0;
  bool operator==(const Slot&) const = default;
};

struct SlotValue {
  Cell cell;
  const Items* items = nullptr;
  const Mystery* havoc = nullptr;
};

struct Change {
  Slot slot;
  SlotValue value;
};

using Delta = std::vector<Change>;  // each slot once

// Owns everything that a Val points to.
class Arena {
 public:
  template <typename T>
  T* make(T value) {
    return &std::get<std::deque<T>>(store_).emplace_back(std::move(value));
  }
  void clear() { store_ = {}; }

 private:
  std::tuple<std::deque<Object>, std::deque<Mystery>, std::deque<Alternatives>, std::deque<Bound>,
             std::deque<Items>, std::deque<Write>, std::deque<CallSite>, std::deque<std::string>,
             std::deque<Function>>
      store_;
};

class Journal {
 public:
  using Mark = std::size_t;

  static SlotValue read(const Slot& slot);
  void set(const Slot& slot, const SlotValue& value);

  Mark mark() const { return entries_.size(); }
  void undo(Mark mark);
  Delta changed(Mark mark) const;              // what was changed since, with its present values
  Delta before(Mark mark) const;               // the same slots with the values that they had
  Delta between(Mark mark, Mark later) const;  // what was changed in that stretch, as of its end
  void apply(const Delta& delta);
  void forget() { entries_.clear(); }  // keeps the changes for good

 private:
  static void write(const Slot& slot, const SlotValue& value);
  std::vector<Change> entries_;  // old values
};

}  // namespace shardlint::python
