#pragma once
// One Hydra override: [+|++|~]key[@package][=value], read as Hydra 1.3's grammar reads it.

#include <string>
#include <string_view>

#include "frontend/words.h"

namespace shardlint {

struct Override {
  enum class Kind { change, add, force_add, remove } kind = Kind::change;
  std::string key;      // a.b.c or group/sub, without the package
  std::string package;  // after @, or empty
  bool has_value = false;
  Value value;  // null for `key=null`, "" for `key=`
  Word key_word, value_word;
  std::string error;         // why it is no override, or empty
  std::size_t error_at = 0;  // the word's byte that the error is about
  bool sweep = false;        // several values, for --multirun alone

  std::string name() const { return package.empty() ? key : key + "@" + package; }
};

// Words with unknown parts give unknown values; a word whose key is not known has an empty key and
// no error.
Override parse_override(const Word& word);

// A value alone: what stands behind the equals sign.
struct OverrideValue {
  Value value;
  std::string error;
  std::size_t error_at = 0;
  bool sweep = false;
};
OverrideValue parse_override_value(const Word& word);

// A value as an override has it, which the grammar reads back as the same: True, null, [1,2],
// plain text where it can stand without quotes.
std::string override_text(const Value& value);

}  // namespace shardlint
