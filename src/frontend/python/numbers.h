#pragma once
// Which values are numbers and sequences, as Python counts them: True is 1.

#include "frontend/python/values.h"

namespace shardlint::python {

inline bool is_sequence(const Val& value) {
  return value.is(Type::object) &&
         (value.object->shape == Shape::list || value.object->shape == Shape::tuple ||
          value.object->shape == Shape::set);
}

inline bool is_integral(const Val& value) {
  return value.is(Type::integer) || value.is(Type::boolean);
}
inline bool is_numeric(const Val& value) {
  return is_integral(value) || value.is(Type::real);
}
inline std::int64_t as_integer(const Val& value) {
  return value.is(Type::boolean) ? value.boolean : value.integer;
}
inline double as_real(const Val& value) {
  return value.is(Type::real) ? value.real : static_cast<double>(as_integer(value));
}

}  // namespace shardlint::python
