#pragma once
// What a Schema looks things up in. Private to the schema room.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/blob.h"
#include "schema/schema.h"

namespace shardlint {

// Spans of strings that live as long as the arena.
class StringArena {
 public:
  std::span<const std::string_view> spans(std::vector<std::string_view> items) {
    if (items.empty())
      return {};
    return lists_.emplace_back(std::move(items));
  }
  std::string_view text(std::string value) { return texts_.emplace_back(std::move(value)); }

 private:
  std::deque<std::vector<std::string_view>> lists_;
  std::deque<std::string> texts_;
};

struct Rename {
  std::string_view from, to, note;
};

struct Schema::Tables {
  const SchemaBlob* blob = nullptr;
  std::size_t index = 0;  // of this version
  StringArena arena;
  std::vector<ClassInfo> classes;  // sorted by target
  std::vector<Key> fields;         // sorted by class, then name
  std::vector<std::string_view> section_names;
  std::vector<std::pair<std::string_view, std::span<const std::string_view>>> sections;
  std::vector<std::pair<std::string_view, std::size_t>> flags;  // sorted, into options_
  std::vector<TreeFile> files;                                  // sorted by path
  struct Leaf {
    std::string_view file, key;
    Value value;
  };
  std::vector<Leaf> leaves;  // of the files, by file
  std::vector<Rename> renames;
  std::vector<std::pair<std::string_view, const ClassInfo*>> by_name;  // bare; of equals in order
  // Base -> the classes that derive from it, sorted; made when it is first asked for.
  mutable std::vector<std::pair<std::string_view, const ClassInfo*>> derived;
  mutable std::once_flag derived_made;
  // canonical name -> spellings, and back sorted
  std::unordered_map<std::string_view, std::span<const std::string_view>> canonical;
  std::vector<std::pair<std::string_view, std::string_view>> canonical_of;
};

// The versions of one framework.
struct SchemaVersions {
  std::string_view repository;
  std::vector<std::string_view> names, commits;
  std::vector<bool> released;
};

// Versions in which a name stood, bit by bit: flags (--x), keys, or section.field.
std::uint64_t versions_with(const SchemaBlob& blob, std::string_view name);
SchemaVersions schema_versions(const SchemaBlob& blob);

}  // namespace shardlint
