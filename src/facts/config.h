#pragma once
// Facts: what one source said. Config: what holds after all layers, each key with its chain.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "facts/value.h"

namespace shardlint {

// Where a value came from, in the order of precedence that layers have.
enum class Origin {
  default_value,   // of the class or flag; no place
  set,             // written in a file or in the base configuration
  override_value,  // written on a command line over a file
  environment,     // exported, or read from an environment variable
  computed,        // derived by a step of the program from other values
  rewritten,       // changed by a step of the program
};
std::string_view origin_name(Origin origin);  // set | default | override | env | computed

// One assignment that one source makes. `key` is the framework's own spelling: a dotted path
// (checkpoint.ckpt_format) or an argparse destination (ckpt_format); environment variables are
// env.NAME; the launcher's facts are world_size, nnodes, nproc_per_node.
struct Fact {
  std::string key;
  Value value;
  Span key_span;    // the key, flag or assignment target as written
  Span value_span;  // the value as written; empty at the key's end for an implicit one
  Origin origin = Origin::set;
  std::string note;  // for chains: "inherited here", "variable set in env.sh", ...
};

// One configuration as the front end read it: a YAML document, a command of a script, a recipe.
struct Facts {
  std::string framework;    // megatron-lm | megatron-bridge | verl
  std::string instance;     // which one in the file: "command 2", a function name, a test case
  bool closed = false;      // true: an entry point, absent keys have their defaults
  std::string base;         // verl: the default tree (ppo_trainer); Bridge: the recipe, if named
  std::vector<Fact> facts;  // in the order in which the program applies them
  Span anchor;              // absent keys point here: the command, the document's first key
  std::map<std::string, Span> sections;  // "checkpoint" -> its key, to anchor absent keys nearer
};

// One step in the life of a value.
struct Step {
  Value value;
  Origin origin = Origin::set;
  Span key_span, value_span;
  std::string by;  // what did it: a step's id, "duplicate key", a note; empty for plain settings
};

struct Entry {
  std::vector<Step> chain;  // never empty; the last one is in force
  const Value& value() const { return chain.back().value; }
  // The last step that a person wrote, or null when none did.
  const Step* written() const;
};

class Config {
 public:
  const Entry* find(std::string_view key) const;
  void set(std::string_view key, Step step);  // appends to the chain
  void remove(std::string_view key);
  bool has_prefix(std::string_view prefix) const;  // some key starts with "prefix."
  // Sorted. They live as long as the entries do.
  std::vector<std::string_view> keys() const;

  // Copies that are made from here on share what is there now; what changes is a copy's own.
  void freeze();

  std::string framework, instance, base;
  bool closed = false;
  // Closed by the user's word although something else completes it (an override file): findings
  // that hang on defaults alone are not this file's business.
  bool partial = false;
  Span anchor;
  std::map<std::string, Span> sections;

  // Where to point for a key: where it was last written, else its section, else the anchor.
  Span place(std::string_view key) const;
  // The key's name as written, else the same as place().
  Span key_place(std::string_view key) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Table {
    std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries;
    // How many keys lie below each prefix: rules ask for it at every key that is not there.
    std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> below;
    std::vector<std::string_view> sorted;  // of a frozen one
  };
  Entry& entry(std::string_view key);  // a new one, empty, where there is none

  Table own_;                            // wins over frozen_
  std::shared_ptr<const Table> frozen_;  // null: nothing is shared
};

// Layers, first to last; later facts win and the whole chain is kept. The framework, anchor and
// openness are the last layer's that has them (a command line over a recipe is closed if either
// is).
Config merge(std::vector<Facts> layers);

}  // namespace shardlint
