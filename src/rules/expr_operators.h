#pragma once
// Operators of the expression language on values, in three-valued logic: an unknown operand gives
// an unknown result unless the known ones decide; undefined (arithmetic or order of null) stays so.

#include <string_view>

#include "facts/value.h"
#include "rules/expr.h"
#include "rules/expr_builtins.h"

namespace shardlint::rules {

// The value, or anything inside it, is unknown.
bool holds_unknown(const Value& value);

// The answer to a question about a value that is not known. The possible values are those of the
// value, not of the answer, and do not go along.
Value undecided(const Value& value);

// What comes of a value that is not known: unknown for the same reason, and nothing more is known
// of it. Undefined stays undefined.
Value derived(const Value& value);

// A bool when every value of the domain agrees, else undecided.
template <typename Test>
Value decide(const Value& value, Test test) {
  const Unknown& u = *value.if_unknown();
  if (u.domain.empty()) {
    return undecided(value);
  }
  const bool first = test(u.domain.front());
  for (const Value& candidate : u.domain) {
    if (holds_unknown(candidate) || test(candidate) != first) {
      return undecided(value);
    }
  }
  return first;
}

// f over the domain of an unknown: the result is unknown with the images as its domain.
template <typename F>
Value map_domain(const Value& value, F f) {
  const Unknown& u = *value.if_unknown();
  Unknown out{u.reason, u.detail, u.where, !u.domain.empty(), {}};
  for (const Value& candidate : u.domain) {
    const Value image = f(candidate);
    if (holds_unknown(image)) {
      return derived(value);
    }
    out.not_null = out.not_null && !image.is_null();
    out.domain.push_back(image);
  }
  return out;
}

Value truth(const Value& value);   // true, false, or undecided
Value negate(const Value& truth);  // of what truth() gives
// `unknown or 1`, `unknown and 0`: what the left operand leaves when the right one decides.
Value fallback(const Value& left, const Value& right, bool decider);
Value either(const Value& a, const Value& b);  // `or` of truths

Value equal(const Value& a, const Value& b);
Value compare(Op op, const Value& a, const Value& b);  // lt, le, gt, ge
Value subset(Op op, const Value& a, const Value& b);   // the same, of sets
Value contains(const Value& item, const Value& container);
Value arithmetic(Op op, const Value& a, const Value& b);     // add ... mod
Value set_operation(Op op, const Value& a, const Value& b);  // bit_and, bit_or
Value subscript(const Value& object, const Value& index);
Value slice(const Value& object, const Value& first, const Value& last);
Value attribute(const Value& object, std::string_view name);

}  // namespace shardlint::rules
