// What a condition that is taken to hold says of names and fields.
#include "frontend/python/eval.h"

namespace shardlint::python {

// Narrows what a name or field may be by a condition that is taken to hold. False when nothing is
// left: that way cannot be taken.
bool Interpreter::assume(const Node& test, bool holds) {
  if (test.tag == Tag::unary && test.op == Op::not_) {
    return assume(*test.kids[0], !holds);
  }
  if (test.tag == Tag::boolean) {
    if ((test.op == Op::and_) == holds) {
      return assume(*test.kids[0], holds) && assume(*test.kids[1], holds);
    }
    return true;
  }
  const Node* subject = &test;
  std::function<std::optional<bool>(const Val&)> predicate = [&](const Val& v) { return truth(v); };
  if (test.tag == Tag::compare && test.kids.size() == 2) {
    subject = test.kids[0];
    const Node& other = *test.kids[1];
    if (other.tag != Tag::constant && other.tag != Tag::tuple && other.tag != Tag::list &&
        other.tag != Tag::set) {
      return true;
    }
    const Val against = eval(&other);
    const Op op = static_cast<Op>(test.text[0]);
    predicate = [this, op, against](const Val& v) { return compare(op, v, against); };
  } else if (test.tag == Tag::call && test.kids.size() == 3 && test.kids[0]->tag == Tag::name &&
             names_.text(test.kids[0]->name) == "isinstance") {
    subject = test.kids[1];
    const Val cls = eval(test.kids[2]);
    predicate = [this, cls](const Val& v) { return is_instance(v, cls); };
  } else if (test.tag == Tag::call) {
    return true;
  }
  // Names and plain attribute chains only: evaluating those changes nothing.
  const Node* root = subject;
  while (root->tag == Tag::attribute) {
    root = root->kids[0];
  }
  if (root->tag != Tag::name || (subject->tag != Tag::name && subject->tag != Tag::attribute)) {
    return true;
  }
  // A value on which the test would raise cannot have come this far: it fits neither side.
  const auto fits = [&](const Val& v) {
    try {
      const std::optional<bool> decided = predicate(v);
      return !decided || *decided == holds;
    } catch (const Raise&) {
      return false;
    }
  };
  const Val value = eval(subject);
  std::optional<Val> narrowed;
  if (value.is(Type::alternatives)) {
    std::size_t kept = 0;
    for (const Val& one : value.any->values) {
      if (fits(one)) {
        narrowed = narrowed ? join(*narrowed, one) : one;
        ++kept;
      }
    }
    if (kept == 0) {
      return false;
    }
    if (kept == value.any->values.size()) {
      return true;
    }
  } else if (value.is(Type::unknown) && !value.mystery->not_null) {
    if (!fits(Val{})) {
      Mystery sure = *value.mystery;
      sure.not_null = true;
      narrowed = value;
      narrowed->mystery = keep(std::move(sure));
    }
  } else if (value.is_scalar()) {
    return fits(value);
  }
  if (!narrowed) {
    return true;
  }
  // Narrowing is not an assignment: the chain of writes stays as it is.
  if (subject->tag == Tag::name) {
    for (Object* scope = frame_->scope; scope; scope = scope->parent) {
      if (scope->find(subject->name)) {
        SlotValue cell;
        cell.cell = {*narrowed, nullptr, true};
        journal_.set({scope, Part::field, subject->name}, cell);
        return true;
      }
    }
    return true;
  }
  const Val holder = eval(subject->kids[0]);
  if (holder.is(Type::object)) {
    if (const Field* field = holder.object->find(subject->name)) {
      SlotValue cell;
      cell.cell = field->cell;
      cell.cell.value = *narrowed;
      journal_.set({holder.object, Part::field, subject->name}, cell);
    }
  }
  return true;
}

}  // namespace shardlint::python
