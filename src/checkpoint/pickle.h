#pragma once
// A closed, inert machine for pickles of protocols 2 to 5. It imports nothing and calls nothing:
// a global is a pair of names, a call is a record of callable and arguments. What the records mean
// is decided by whoever reads them (metadata.h, torch_record.h).

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::checkpoint::pickle {

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,
  big_integer,
  real,
  text,
  bytes,
  tuple,
  list,
  dict,
  set,
  global,
  object,
};

// 16 bytes; containers are indices into the Pickle that made them, so that values which a pickle
// shares through its memo are shared here too and a small pickle cannot grow large.
struct Value {
  Kind kind = Kind::none;
  std::uint32_t count = 0;  // text, bytes, big_integer: length; tuple: elements
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    std::uint64_t at = 0;  // text, bytes, big_integer: offset in the input; else an index
  };
};

struct Global {
  std::string_view module, name;
  std::uint64_t offset = 0;  // where the input names it first
};

enum class Call : std::uint8_t { reduce, newobj, persistent_id };

struct Object {
  Call call = Call::reduce;
  Value callable, arguments, state;  // persistent_id: only arguments
  bool has_state = false;
  std::vector<Value> items;  // dict items (key, value, ...) or list items given after construction
};

// What is wrong with a pickle and where.
struct Fault : std::runtime_error {
  Fault(std::uint64_t at, const std::string& what) : std::runtime_error(what), offset(at) {}
  std::uint64_t offset;
};

// The outcome; `input` must outlive it.
struct Pickle {
  std::string_view input;
  Value root;
  std::uint64_t end = 0;                       // one past STOP
  std::vector<Value> tuples;                   // all tuples' elements, one after another
  std::vector<std::vector<Value>> containers;  // list, set: elements; dict: key, value, key, value
  std::vector<Global> globals;
  std::vector<Object> objects;

  std::string_view text(const Value& value) const;  // text or bytes, else empty
  const Value* elements(const Value& value) const;  // of a tuple or list
  std::size_t size(const Value& value) const;  // elements of a tuple, list or set; pairs of a dict
  const Object* object(const Value& value) const {
    return value.kind == Kind::object ? &objects[value.at] : nullptr;
  }
  const Global* global(const Value& value) const {
    return value.kind == Kind::global ? &globals[value.at] : nullptr;
  }
  bool is_global(const Value& value, std::string_view module, std::string_view name) const;
  // The value of a text key in a dict, or in the dict that is an object's state. Null when absent.
  const Value* find(const Value& dict, std::string_view key) const;
  const std::vector<Value>* pairs(const Value& dict) const;  // also of an OrderedDict
  std::optional<std::int64_t> integer(const Value& value) const;
};

struct Limits {
  std::uint64_t opcodes = 400'000'000;
  std::uint64_t values = 200'000'000;  // stack, tuples and container elements together
};

// Throws Fault. Everything after STOP is left alone; `end` says where that is.
Pickle run(std::string_view input, const Limits& limits = {});

}  // namespace shardlint::checkpoint::pickle
