#pragma once
// Findings that need the catalogue alone. What upstream refuses is an error; what it accepts and
// drops, or would only stumble over later, is a warning.
//   KEY101 unknown-key       no such key at this version (did you mean; renamed; removed; too new)
//   KEY102 key-type          a value that cannot be of the declared type
//   KEY103 key-choice        not one of the declared choices

#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"
#include "schema/schema.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

// Megatron-Bridge configurations; of the others the front ends check what they read. Sections of a
// class that is not in the catalogue are passed over.
std::vector<Diagnostic> check_keys(const Config& config, const Schema& schema);

// Why a key is not known, for messages: a sentence without the key's consequence.
struct UnknownKey {
  std::string message;      // "`a.b` is not a key of Megatron-Bridge 0.7.0"
  std::string replacement;  // what to write instead, or empty
  std::string note;         // what to know of a change, or empty
  Safety safety = Safety::unsafe;
};
// `type`: the class that was looked into, where one is named.
UnknownKey describe_unknown_key(const Schema& schema, std::string_view key,
                                std::string_view type = {});

// Whether only the catalogued class can fill this section of Megatron-Bridge's container. Models,
// data sets and adapters may be classes of the user's own.
bool one_class_only(std::string_view section);

// The framework's name as its users write it.
std::string_view framework_title(std::string_view framework);

// What is wrong with a value of a key: nothing, or a sentence after "`key` ".
struct ValueFault {
  enum class Kind { none, type, choice } kind = Kind::none;
  std::string expected;    // "is an integer"
  std::string suggestion;  // the choice that was probably meant
};
ValueFault fault_of(const Key& key, const Value& value);

}  // namespace shardlint
