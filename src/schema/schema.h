#pragma once
// The key catalogue: what each framework's configuration may hold, at each of its versions. Made
// from upstream's source by tools/extract_schema, compiled into the binary, decoded on first use
// (one framework at one version, under a millisecond). Strings and spans live as long as the
// program; a Schema is immutable and may be shared between threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/version.h"
#include "facts/value.h"

namespace shardlint {

// A value's type as upstream declares it. choice: one of Key::choices. object: an
// instance of one of `classes`.
enum class Kind : std::uint8_t {
  any,
  boolean,
  integer,
  real,
  text,
  path,
  choice,
  list,
  map,
  object
};
std::string_view kind_name(Kind kind);  // as users see it: "integer", "text", ...

struct KeyType {
  Kind kind = Kind::any;
  Kind element = Kind::any;  // of a list or map
  bool optional = false;     // null is allowed
  bool declared = false;     // false: guessed from the default; not to be checked against
  // Of an object or a list of them: the classes that may stand here, as ClassInfo::target.
  std::span<const std::string_view> classes;
};

// The default that holds depends on how the program is started: by the command line's parser or
// by constructing the class. Composed trees (verl) have one: `cls`.
enum class Route : std::uint8_t { cli, cls };

// What a command-line flag does with its dest.
enum class Action : std::uint8_t {
  store,
  store_true,
  store_false,
  boolean_optional,
  store_const,
  append,
  count,
  help
};
enum class Nargs : std::uint8_t { one, optional, any, some, exactly };  // -, ?, *, +, N

// How argparse turns a word into a value, where it is not plainly Key::type's way.
enum class Convert : std::uint8_t {
  text,
  integer,
  real,
  boolean,        // Python's bool(): every word but the empty one is true
  enum_name,      // a member's name
  pattern,        // an integer or a Python list expression such as ([0]*3+[1]*1)*3
  integer_tuple,  // 1,2,3 or (1,2,3)
  other           // a function that is not modelled: any word is taken, the value is unknown
};

// One add_argument() call.
struct Option {
  std::span<const std::string_view> flags;  // every spelling, in the order declared
  std::string_view dest;
  Action action = Action::store;
  Nargs nargs = Nargs::one;
  std::uint32_t count = 0;  // of Nargs::exactly
  Convert convert = Convert::text;
  std::span<const std::string_view> choices;
  bool required = false;
  Value constant;           // of store_const, and of `?` without a word
  std::string_view entry;   // what adds it (a script, an installed package), empty: always there
  std::string_view anchor;  // path:line at Schema::commit()
};

struct Key {
  std::string_view name;  // dotted path or argparse dest
  KeyType type;
  std::span<const std::string_view> choices;
  std::string_view owner;                           // the class that declares it
  std::string_view anchor;                          // path:line at Schema::commit()
  bool required = false;                            // no default: the constructor must be given one
  bool has_cls = false, has_cli = false;            // whether that route has a default at all
  bool computed_cls = false, computed_cli = false;  // a default that only running would give
  bool settable = true;                             // false: set by the class itself (init=False)
  std::string_view builds;  // the class whose instance is the default (ClassInfo::target)
  Value cls_default, cli_default;
  // Framework's way: a closed input's absent key has this. Unknown when computed or required.
  Value default_value(Route route) const;
};

// A key or flag that some version has and the one asked for has not.
struct Lifetime {
  std::string_view since, until;  // first version that has it; first later one that has not
  std::string_view replacement;   // its name afterwards, or empty
  bool old_name = false;          // gone, `replacement` took its place
  std::string_view note;          // what to know about the change, or empty
};

struct ClassInfo {
  std::string_view name;                    // GPTModelProvider
  std::string_view target;                  // the same with its module, as _target_ spells it
  std::span<const std::string_view> bases;  // targets of all of them in resolution order
  std::span<const Key> own_fields;          // declared by the class itself, sorted by name
  std::string_view anchor;
};

// One file of a Hydra tree (verl): its defaults list and its own keys.
struct TreeFile {
  std::string_view path;     // engine/megatron, without .yaml
  std::string_view package;  // from an `@package` header, or empty
  List defaults;             // strings and one-entry maps, as written
  Map body;
};

class Schema {
 public:
  // Frameworks: megatron-lm, megatron-bridge, verl. The version is one of versions(), a commit of
  // one, or any version between (the newest listed one not above it answers; below the oldest, the
  // oldest); empty or not a version: the newest. Null for an unknown framework.
  static const Schema* get(std::string_view framework, std::string_view version = {});
  static std::span<const std::string_view> frameworks();
  static std::span<const std::string_view> versions(std::string_view framework);  // oldest first
  // Whether a version or commit is one that was measured.
  static bool measured(std::string_view framework, std::string_view version);

  std::string_view framework() const { return framework_; }
  std::string_view version() const { return version_; }        // 0.20.0
  std::string_view commit() const { return commit_; }          // what anchors refer to
  std::string_view repository() const { return repository_; }  // NVIDIA/Megatron-LM
  bool released() const { return released_; }

  // Keys by the framework's own name. A path through nested objects gives the last one's field,
  // whose name is then the field's alone. verl: the keys of every root tree together.
  const Key* find(std::string_view name) const;
  std::span<const Key> keys() const { return keys_; }  // sorted by name
  // Its default as the framework is commonly started: megatron-lm from the command line.
  Value default_of(const Key& key) const {
    return key.default_value(framework_ == "megatron-lm" ? Route::cli : Route::cls);
  }
  bool has_prefix(std::string_view prefix) const;  // some key starts with "prefix."
  // The nearest key, or empty.
  std::string_view nearest_key(std::string_view name) const;
  // When a name that find() or find_flag() does not know was or will be known.
  std::optional<Lifetime> history(std::string_view name_or_flag) const;
  // First version that has the key or flag: empty when the oldest measured one has it already.
  std::string_view since(std::string_view name_or_flag) const;

  // Command line (megatron-lm). A flag's default is its dest's: find(option.dest)->cli_default.
  // Flags of one script count where `script` (a path) has that script's file name, or where it is
  // known_script() to nobody; flags that an optional package brings always count.
  const Option* find_flag(std::string_view flag, std::string_view script = {}) const;
  // Whether the option is another script's, so that `script` may declare the same flag otherwise.
  static bool of_another_script(const Option& option, std::string_view script);
  // Whether upstream ships a training script of that file name, so that its flags are all known. An
  // argument list without a script is held to what every script accepts.
  static bool known_script(std::string_view path);
  std::string_view flag_owner(std::string_view flag) const;     // the script that alone has it
  std::span<const Option> options() const { return options_; }  // in the order declared
  std::string_view nearest_flag(std::string_view flag) const;
  // The flag that sets a dest to true or to a value, and the one that sets it to false.
  std::string_view flag_of(std::string_view dest, bool negative = false) const;

  // Classes. `name` is a target or a bare name (a target's last part decides between equals).
  const ClassInfo* find_class(std::string_view name) const;
  bool is_a(std::string_view class_name, std::string_view base) const;   // also when equal
  const Key* field(const ClassInfo& info, std::string_view name) const;  // inherited ones too
  std::vector<const Key*> fields(const ClassInfo& info) const;           // all, bases first
  std::span<const ClassInfo> classes() const;
  // Sections of the configuration container and the classes that may fill one.
  std::span<const std::string_view> sections() const;
  std::span<const std::string_view> section_classes(std::string_view section) const;

  // Files of the Hydra tree (verl), by path without .yaml; null when there is none.
  const TreeFile* tree_file(std::string_view path) const;
  std::span<const TreeFile> tree_files() const;  // sorted by path

  // Canonical names: the keys of this framework that together are the one thing (any_of).
  // verl: paths relative to an engine scope start with "E.".
  std::span<const std::string_view> spellings(std::string_view canonical) const;
  std::string_view canonical(std::string_view key) const;  // empty when it has none
  static std::span<const std::string_view> canonical_names();

 private:
  const Key* find_nested(std::span<const std::string_view> targets, std::string_view path,
                         int depth) const;
  std::vector<std::pair<std::string_view, std::size_t>>::const_iterator flags_from(
      std::string_view flag) const;
  friend struct SchemaBuilder;
  Schema() = default;
  std::string_view framework_, version_, commit_, repository_;
  bool released_ = true;
  std::vector<Key> keys_;
  std::vector<Option> options_;
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace shardlint
