// From the packed catalogue to one Schema: one framework at one version.

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"
#include "schema/tables.h"

namespace shardlint {

struct SchemaBuilder {
  BlobReader in;
  Schema& out;
  Schema::Tables& tables;

  std::span<const std::string_view> strings() {
    std::vector<std::string_view> items(in.number());
    for (std::string_view& item : items)
      item = in.string();
    return tables.arena.spans(std::move(items));
  }

  KeyType key_type() {
    static constexpr Kind kinds[] = {Kind::any,  Kind::boolean, Kind::integer, Kind::real,
                                     Kind::text, Kind::path,    Kind::choice,  Kind::list,
                                     Kind::map,  Kind::object,  Kind::any};
    KeyType type;
    type.kind = kinds[std::min<std::size_t>(in.byte(), std::size(kinds) - 1)];
    type.element = kinds[std::min<std::size_t>(in.byte(), std::size(kinds) - 1)];
    const unsigned char bits = in.byte();
    type.optional = bits & 1;
    type.declared = bits & 2;
    type.classes = strings();
    return type;
  }

  Key key() {
    Key key;
    key.name = in.string();
    key.type = key_type();
    key.choices = strings();
    key.owner = in.string();
    key.anchor = in.string();
    key.builds = in.string();
    const unsigned char bits = in.byte();
    key.has_cls = bits & 1;
    key.has_cli = bits & 2;
    key.computed_cls = bits & 4;
    key.settable = !(bits & 8);
    key.computed_cli = bits & 16;
    key.cls_default = in.value();
    key.cli_default = in.value();
    key.required = !key.has_cls && !key.computed_cls && !key.has_cli && !key.computed_cli;
    return key;
  }

  Option option() {
    static constexpr Action actions[] = {
        Action::store,       Action::store_true, Action::store_false, Action::boolean_optional,
        Action::store_const, Action::append,     Action::count,       Action::help};
    Option option;
    std::vector<std::string_view> flags(in.number());
    for (std::string_view& flag : flags)
      flag = in.string();
    option.dest = in.string();
    option.action = actions[in.byte() & 7];
    if (option.action == Action::boolean_optional) {
      for (std::size_t i = 0, n = flags.size(); i < n; ++i) {
        flags.push_back(tables.arena.text("--no-" + std::string(flags[i].substr(2))));
      }
    }
    option.flags = tables.arena.spans(std::move(flags));
    option.nargs = static_cast<Nargs>(in.byte());
    option.count = static_cast<std::uint32_t>(in.number());
    option.convert = static_cast<Convert>(in.byte());
    option.choices = strings();
    option.required = in.byte() != 0;
    option.constant = in.value();
    option.entry = in.string();
    option.anchor = in.string();
    return option;
  }

  // Calls `row` for every row of the next section that holds at this version.
  template <typename Row, typename Rows>
  void section(Rows& rows, Row row) {
    std::uint64_t n = in.number();
    rows.reserve(n);
    for (; n > 0; --n) {
      const std::size_t size = in.number();
      const unsigned char* begin = in.position();
      if (in.number() >> tables.index & 1)
        row();
      in.seek(begin);
      in.skip(size);
    }
  }

  void read() {
    in.read_pool();
    out.repository_ = in.string();
    const std::uint64_t versions = in.number();
    for (std::uint64_t i = 0; i < versions; ++i) {
      const std::string_view version = in.string(), commit = in.string();
      const bool released = in.byte() != 0;
      if (i == tables.index) {
        out.version_ = version, out.commit_ = commit, out.released_ = released;
      }
    }
    section(out.keys_, [&] { out.keys_.push_back(key()); });
    section(out.options_, [&] { out.options_.push_back(option()); });
    section(tables.sections, [&] {
      const std::string_view name = in.string();
      tables.sections.emplace_back(name, strings());
      tables.section_names.push_back(name);
    });
    section(tables.classes, [&] {
      ClassInfo info;
      info.target = in.string();
      info.name = info.target.substr(info.target.rfind('.') + 1);
      info.bases = strings();
      info.anchor = in.string();
      tables.classes.push_back(info);
    });
    section(tables.fields, [&] {
      in.string();  // the class: the key's owner
      tables.fields.push_back(key());
    });
    section(tables.files, [&] {
      TreeFile file;
      file.path = in.string();
      file.package = in.string();
      const Value defaults = in.value();
      if (const List* list = defaults.if_list()) {
        file.defaults = *list;
      }
      tables.files.push_back(std::move(file));
    });
    section(tables.leaves, [&] {
      Schema::Tables::Leaf leaf;
      leaf.file = in.string();
      leaf.key = in.string();
      leaf.value = in.value();
      tables.leaves.push_back(std::move(leaf));
    });
    for (std::uint64_t n = in.number(); n > 0; --n) {
      Rename rename;
      rename.from = in.string(), rename.to = in.string(), rename.note = in.string();
      tables.renames.push_back(rename);
    }
    for (std::uint64_t n = in.number(); n > 0; --n) {
      const std::string_view name = in.string();
      tables.canonical.emplace(name, strings());
    }
    index();
  }

  // Leaves with a common path, `depth` characters of which are done, as nested mappings.
  static Map nested(std::span<const Schema::Tables::Leaf> leaves, std::size_t depth) {
    Map out;
    std::vector<bool> done(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (done[i]) {
        continue;
      }
      const std::string_view rest = leaves[i].key.substr(depth);
      const std::size_t dot = rest.find('.');
      if (dot == std::string_view::npos) {
        out.emplace_back(rest, leaves[i].value);
        continue;
      }
      const std::string_view start = leaves[i].key.substr(0, depth + dot + 1);
      std::vector<Schema::Tables::Leaf> inner;
      for (std::size_t k = i; k < leaves.size(); ++k) {
        if (leaves[k].key.starts_with(start)) {
          inner.push_back(leaves[k]);
          done[k] = true;
        }
      }
      out.emplace_back(rest.substr(0, dot), Value(nested(inner, start.size())));
    }
    return out;
  }

  // Keys, classes, fields and files come sorted.
  void index() {
    auto field = tables.fields.begin();
    for (ClassInfo& info : tables.classes) {
      while (field != tables.fields.end() && field->owner < info.target) {
        ++field;
      }
      const auto first = field;
      while (field != tables.fields.end() && field->owner == info.target) {
        ++field;
      }
      info.own_fields = {first, field};
      tables.by_name.emplace_back(info.name, &info);
    }
    std::stable_sort(tables.by_name.begin(), tables.by_name.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    auto leaf = tables.leaves.begin();
    for (TreeFile& file : tables.files) {
      const auto first = leaf;
      while (leaf != tables.leaves.end() && leaf->file == file.path) {
        ++leaf;
      }
      file.body = nested({first, leaf}, 0);
    }
    section_keys();
    for (std::size_t i = 0; i < out.options_.size(); ++i) {
      for (std::string_view flag : out.options_[i].flags) {
        tables.flags.emplace_back(flag, i);
      }
    }
    std::sort(tables.flags.begin(), tables.flags.end());
    for (const auto& [name, spellings] : tables.canonical) {
      for (std::string_view spelling : spellings) {
        tables.canonical_of.emplace_back(spelling, name);
      }
    }
    std::sort(tables.canonical_of.begin(), tables.canonical_of.end());
  }

  // Keys of a container of sections: every field of every class that a section may hold, the
  // first class's where several have it.
  void section_keys() {
    if (!out.keys_.empty()) {
      return;  // a framework whose keys are listed
    }
    std::vector<std::pair<std::string_view, const Key*>> found;
    for (const auto& [section, targets] : tables.sections) {
      std::unordered_set<std::string_view> seen;
      for (std::string_view target : targets) {
        const ClassInfo* info = out.find_class(target);
        if (!info) {
          continue;
        }
        for (const Key* field : out.fields(*info)) {
          if (!seen.insert(field->name).second) {
            continue;
          }
          if (section.empty()) {
            found.emplace_back(field->name, field);
            continue;
          }
          std::string name;
          name.reserve(section.size() + 1 + field->name.size());
          name.append(section).append(".").append(field->name);
          found.emplace_back(tables.arena.text(std::move(name)), field);
        }
      }
    }
    std::sort(found.begin(), found.end());
    out.keys_.reserve(found.size());
    for (const auto& [name, field] : found) {
      out.keys_.emplace_back(*field).name = name;
    }
  }

  static const Schema* build(const SchemaBlob& blob, std::size_t index) {
    auto tables = std::make_shared<Schema::Tables>();
    tables->blob = &blob;
    tables->index = index;
    auto* schema = new Schema();  // kept for the life of the program
    schema->framework_ = blob.framework;
    schema->tables_ = tables;
    SchemaBuilder{BlobReader(blob.bytes), *schema, *tables}.read();
    return schema;
  }
};

SchemaVersions schema_versions(const SchemaBlob& blob) {
  BlobReader in(blob.bytes);
  in.read_pool();
  SchemaVersions out;
  out.repository = in.string();
  for (std::uint64_t n = in.number(); n > 0; --n) {
    out.names.push_back(in.string());
    out.commits.push_back(in.string());
    out.released.push_back(in.byte() != 0);
  }
  return out;
}

const Schema* decoded_schema(const SchemaBlob& blob, std::size_t index) {
  static std::mutex mutex;
  // Never destroyed: schemas are used until the very end.
  static auto& known = *new std::map<std::pair<const SchemaBlob*, std::size_t>, const Schema*>();
  const std::lock_guard lock(mutex);
  const Schema*& schema = known[{&blob, index}];
  if (!schema)
    schema = SchemaBuilder::build(blob, index);
  return schema;
}

namespace {

// Which versions have which names, over all of them: read once, when a name is not found.
struct Names {
  std::unordered_map<std::string_view, std::uint64_t> flat;  // keys and flags
  std::unordered_map<std::string_view, std::set<std::string_view>> sections, bases;
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> fields;

  explicit Names(const SchemaBlob& blob) {
    BlobReader in(blob.bytes);
    in.read_pool();
    in.string();
    for (std::uint64_t n = in.number(); n > 0; --n) {
      in.string();
      in.string();
      in.byte();
    }
    enum { keys, options, section_rows, class_rows, field_rows };
    for (int part = keys; part <= field_rows; ++part) {
      for (std::uint64_t n = in.number(); n > 0; --n) {
        const std::size_t size = in.number();
        const unsigned char* begin = in.position();
        const std::uint64_t mask = in.number();
        if (part == keys) {
          flat[in.string()] |= mask;
        } else if (part == options) {
          for (std::uint64_t count = in.number(); count > 0; --count) {
            flat[in.string()] |= mask;
          }
        } else if (part == section_rows || part == class_rows) {
          auto& into = (part == section_rows ? sections : bases)[in.string()];
          for (std::uint64_t count = in.number(); count > 0; --count) {
            into.insert(in.string());
          }
        } else {
          const std::string_view owner = in.string();
          fields[{owner, in.string()}] |= mask;
        }
        in.seek(begin);
        in.skip(size);
      }
    }
  }

  std::uint64_t versions(std::string_view name) const {
    if (const auto at = flat.find(name); at != flat.end()) {
      return at->second;
    }
    const std::size_t dot = name.rfind('.');
    const auto section =
        sections.find(dot == std::string_view::npos ? std::string_view() : name.substr(0, dot));
    if (section == sections.end()) {
      return 0;
    }
    std::set<std::string_view> classes = section->second;  // and the classes that they derive from
    for (std::string_view target : section->second) {
      if (const auto of = bases.find(target); of != bases.end()) {
        classes.insert(of->second.begin(), of->second.end());
      }
    }
    std::uint64_t found = 0;
    for (std::string_view target : classes) {
      if (const auto at = fields.find({target, name.substr(dot + 1)}); at != fields.end()) {
        found |= at->second;
      }
    }
    return found;
  }
};

}  // namespace

std::uint64_t versions_with(const SchemaBlob& blob, std::string_view name) {
  static std::mutex mutex;
  static std::map<const SchemaBlob*, Names> known;
  const std::lock_guard lock(mutex);
  auto at = known.find(&blob);
  if (at == known.end()) {
    at = known.try_emplace(&blob, blob).first;
  }
  return at->second.versions(name);
}

}  // namespace shardlint
