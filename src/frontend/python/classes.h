#pragma once
// Classes: where they are defined, what they inherit, the fields of a dataclass with their
// defaults, methods and enumeration members; from source, or from the catalogue of keys.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/python/values.h"

namespace shardlint {
struct ClassInfo;
}

namespace shardlint::python {

enum class DefaultKind : std::uint8_t { required, constant, factory, unknown };

struct FieldInfo {
  Name name = 0;
  DefaultKind kind = DefaultKind::required;
  const Node* expression = nullptr;  // of the default or of the factory
  Class* owner = nullptr;            // the class in which it is declared
  bool init = true, kw_only = false;
  bool cached = false;
  Class* builds = nullptr;  // from the catalogue: the default is an instance of it
  Val value;                // of a constant, once evaluated or from the catalogue
};

struct Class {
  Name name = 0;
  std::string qualified;
  Module* module = nullptr;    // null: from the catalogue
  const Node* node = nullptr;  // null: from the catalogue
  Object* scope = nullptr;     // where it was defined
  const ClassInfo* info = nullptr;
  std::vector<Class*> order;  // of resolution, itself first
  bool complete = true;       // false: some base is not known
  bool is_dataclass = false, kw_only = false, is_enum = false, is_exception = false;
  std::unordered_map<Name, const Function*> methods;
  std::unordered_map<Name, const Node*> attributes;  // name -> the expression of its value
  std::vector<Name> members;                         // of an enumeration, in order
  std::unordered_map<Name, Val> attribute_values;    // evaluated ones
  std::vector<FieldInfo> own_fields;
  std::vector<FieldInfo> all_fields;  // filled by fields()
  bool fields_done = false;
  std::unordered_map<Name, std::size_t> field_index;
  bool custom_setattr = false, custom_getattr = false;  // somewhere in `order`
};

}  // namespace shardlint::python
