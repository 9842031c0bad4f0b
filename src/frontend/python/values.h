#pragma once
// What the evaluation knows about a Python value: it is known, it is an object whose fields are
// tracked, it is one of a few alternatives, or it is unknown for a reason.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/value.h"
#include "frontend/python/syntax.h"

namespace shardlint::python {

struct Object;
struct Function;
struct Class;
struct Module;
struct Bound;
struct Mystery;
struct Alternatives;
struct Write;

enum class Type : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  object,
  function,
  bound,  // a method with its object
  cls,
  module,
  external,  // something imported whose source is not there, or a builtin: only its name is known
  unknown,
  alternatives,
};

// Cheap to copy; what it points to lives in a Heap.
struct Val {
  Type type = Type::none;
  union {
    bool boolean;
    std::int64_t integer = 0;
    double real;
    const std::string* text;  // of text; of external: the qualified name
    Object* object;
    const Function* function;
    const Bound* bound;
    Class* cls;
    Module* module;
    const Mystery* mystery;
    const Alternatives* any;
  };
  Span where;  // the expression that made it, where there is one

  bool is(Type t) const { return type == t; }
  bool is_scalar() const { return type <= Type::text; }
};

// What is known about an unknown value besides the reason.
enum class Hint : std::uint8_t { none, text, integer, real, boolean, object };

struct Mystery {
  Reason reason = Reason::dynamic;
  std::string detail;
  Span where;
  bool not_null = false;
  Hint hint = Hint::none;
};

struct Alternatives {
  std::vector<Val> values;  // 2 to 8, none of them alternatives
};

struct Bound {
  Val self;
  const Function* function = nullptr;  // null: a method of a builtin type or of an opaque object
  Name method = 0;
};

// The elements of a list, tuple or set, or the keys and values of a dict.
struct Items {
  std::vector<Val> keys;  // empty but for a dict
  std::vector<Val> values;
};

// One call on the way to an assignment: its place in the caller.
struct CallSite {
  Span span;
  std::string_view function;
  const CallSite* outer = nullptr;
};

// One assignment to a field, linked to the one before it.
struct Write {
  Val value;
  Span key, value_span;
  const CallSite* via = nullptr;
  const Write* before = nullptr;
  std::string_view note;
  std::uint32_t order = 0;
};

struct Cell {
  Val value;
  const Write* write = nullptr;
  bool present = false;
};

struct Field {
  Name name = 0;
  Cell cell;
};

enum class Shape : std::uint8_t {
  instance,
  opaque,  // made by code that is not evaluated; `label` says by what
  list,
  tuple,
  set,
  dict,
  scope,
  partial,  // items: the function, then its arguments
  member,   // of an enumeration; `label` is its name
  super,    // items: the object; cls: where the search starts after
};

struct Object {
  Shape shape = Shape::instance;
  Class* cls = nullptr;
  std::vector<Field> fields;
  const Items* items = nullptr;
  const Mystery* havoc = nullptr;  // set: what is not listed in fields (or items) is unknown
  Object* parent = nullptr;        // of a scope: the enclosing one
  std::string label;               // see Shape; of an opaque model: what made it
  std::string model;               // of an opaque model: the public model's name, if known
  Span made;                       // the call that made it

  const Field* find(Name name) const {
    for (const Field& field : fields) {
      if (field.name == name) {
        return field.cell.present ? &field : nullptr;
      }
    }
    return nullptr;
  }
};

struct Function {
  const Node* node = nullptr;  // a function or lambda
  Module* module = nullptr;
  Object* scope = nullptr;       // where it was defined
  const Class* owner = nullptr;  // of a method
  Name name = 0;
  bool is_static = false, is_classmethod = false, is_property = false;
  bool unknown_decorator = false;
};

}  // namespace shardlint::python
