#include "schema/check.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/strings.h"

namespace shardlint {
namespace {

// Facts of the launcher and notes of the front ends, which are no keys.
bool foreign(std::string_view key) {
  return key.starts_with("env.") || key == "world_size" || key == "nnodes" ||
         key == "nproc_per_node" || key.ends_with("_target_") || key.ends_with("_type") ||
         key.ends_with("_call_") || key.ends_with("_partial_") || key.ends_with("_args_") ||
         key.starts_with("software.") || key.starts_with("device.");
}

struct Found {
  const Key* key = nullptr;
  bool inside = false;  // the path goes on into a mapping of the user's own
  bool unknown_class = false;
  std::string_view type;  // the class that was looked into, where the configuration names it
};

// Walks a dotted path through the container, its sections' classes and their objects.
class Walk {
 public:
  Walk(const Schema& schema, const Config& config) : schema_(schema), config_(config) {}

  Found find(std::string_view path) {
    const std::size_t dot = path.find('.');
    const Key* section = schema_.find(path.substr(0, dot));
    if (!section || dot == std::string_view::npos) {
      return {section, false, false, {}};
    }
    return down(*section, path, dot, 0);
  }

 private:
  // What stands at one section of the configuration.
  struct Level {
    std::vector<const ClassInfo*> classes;  // empty: a plain mapping, or anything
    const ClassInfo* named = nullptr;
    bool unknown_class = false;
  };

  const Level& level(const Key& key, std::string_view prefix) {
    const auto [at, fresh] = levels_.try_emplace({prefix, &key});
    Level& level = at->second;
    if (!fresh) {
      return level;
    }
    if (const Entry* type = config_.find(std::string(prefix) + "._type")) {
      const std::string* name = type->value().if_string();
      level.named = name ? schema_.find_class(*name) : nullptr;
      level.unknown_class = !level.named;
      level.classes.push_back(level.named);
      return level;
    }
    for (std::string_view target : candidates(key)) {
      if (const ClassInfo* info = schema_.find_class(target)) {
        level.classes.push_back(info);
      }
    }
    add_derived(level.classes);
    return level;
  }

  // The part of the path before `end` is the section of `key`.
  Found down(const Key& key, std::string_view path, std::size_t end, int depth) {
    if (depth > 8) {
      return {&key, true, false, {}};
    }
    const Level& here = level(key, path.substr(0, end));
    if (here.unknown_class) {
      return {nullptr, false, true, {}};
    }
    if (here.classes.empty()) {
      const bool open = key.type.kind == Kind::map || key.type.kind == Kind::any ||
                        key.type.kind == Kind::object || key.type.kind == Kind::list;
      return {open ? &key : nullptr, open, false, {}};
    }
    const std::size_t dot = path.find('.', end + 1);
    const std::string_view head = path.substr(end + 1, dot - end - 1);
    Found best;
    best.type = here.named ? here.named->name : std::string_view();
    for (const ClassInfo* info : here.classes) {
      const Key* field = schema_.field(*info, head);
      if (!field) {
        if (const Key* inner = schema_.field(*info, "transformer")) {
          // A builder's configuration hands attributes on to the transformer's.
          field = through(*inner, head);
        }
      }
      if (!field) {
        continue;
      }
      if (dot == std::string_view::npos) {
        return {field, false, false, {}};
      }
      best = down(*field, path, dot, depth + 1);
      if (best.key || best.unknown_class) {
        return best;
      }
    }
    return best;
  }

  std::vector<std::string_view> candidates(const Key& key) const {
    std::vector<std::string_view> out(key.type.classes.begin(), key.type.classes.end());
    if (!key.builds.empty()) {
      out.push_back(key.builds);
    }
    return out;
  }

  const Key* through(const Key& inner, std::string_view head) const {
    for (std::string_view target : candidates(inner)) {
      const ClassInfo* info = schema_.find_class(target);
      if (const Key* field = info ? schema_.field(*info, head) : nullptr) {
        return field;
      }
    }
    return nullptr;
  }

  void add_derived(std::vector<const ClassInfo*>& classes) const {
    const std::size_t declared = classes.size();
    for (const ClassInfo& info : schema_.classes()) {
      for (std::size_t i = 0; i < declared; ++i) {
        if (std::find(info.bases.begin(), info.bases.end(), classes[i]->target) !=
            info.bases.end()) {
          classes.push_back(&info);
          break;
        }
      }
    }
  }

  const Schema& schema_;
  const Config& config_;
  std::map<std::pair<std::string_view, const Key*>, Level> levels_;
};

Diagnostic start(const char* code, const char* name, const Config& config, const Schema& schema,
                 std::string_view path, const Step& step) {
  Diagnostic d;
  d.code = code;
  d.name = name;
  d.severity = Severity::warning;
  d.framework = schema.framework();
  d.framework_version = schema.version();
  d.instance = config.instance;
  d.key.path = path;
  d.key.canonical = schema.canonical(path);
  d.key.value = step.value.text();
  d.key.origin = origin_name(step.origin);
  return d;
}

std::string quoted(std::span<const std::string_view> items) {
  std::string out;
  for (std::string_view item : items) {
    out += (out.empty() ? "`" : ", `") + std::string(item) + "`";
  }
  return out;
}

void add_evidence(Diagnostic& d, const Schema& schema, const Key& key) {
  const std::size_t colon = key.anchor.rfind(':');
  if (colon == std::string_view::npos) {
    return;
  }
  d.evidence.push_back({std::string(schema.repository()), std::string(schema.commit()),
                        std::string(key.anchor.substr(0, colon)),
                        std::string(key.anchor.substr(colon + 1)), "declaration"});
}

// The edit that writes another name: of the last part only, where the rest of the path is equal
// and stands elsewhere.
void add_rename(Diagnostic& d, const Span& where, std::string_view path, const UnknownKey& why) {
  if (!where || why.replacement.empty()) {
    return;
  }
  const auto leaf = [](std::string_view text) { return text.substr(text.rfind('.') + 1); };
  const auto parent = [&](std::string_view text) {
    return text.substr(0, text.size() - leaf(text).size());
  };
  std::string text;
  if (where.text() == path) {
    text = why.replacement;
  } else if (where.text() == leaf(path) && parent(path) == parent(why.replacement)) {
    text = leaf(why.replacement);
  } else {
    return;
  }
  d.fixes.push_back({fmt::format("Write `{}`", text), why.safety, {{locate(where), text}}});
}

}  // namespace

bool one_class_only(std::string_view section) {
  static constexpr std::string_view sections[] = {
      "train",     "optimizer", "ddp",        "validation", "scheduler", "logger",
      "tokenizer", "rng",       "checkpoint", "dist",       "profiling", "rerun_state_machine"};
  return std::find(std::begin(sections), std::end(sections), section) != std::end(sections);
}

std::string_view framework_title(std::string_view framework) {
  if (framework == "megatron-lm") {
    return "Megatron-LM";
  }
  return framework == "megatron-bridge" ? "Megatron-Bridge" : framework;
}

UnknownKey describe_unknown_key(const Schema& schema, std::string_view key, std::string_view type) {
  const std::string_view title = framework_title(schema.framework());
  const std::optional<Lifetime> life = schema.history(key);
  UnknownKey out;
  if (life && life->old_name) {
    out.message = life->until.empty()
                      ? fmt::format("`{}` is now called `{}`", key, life->replacement)
                      : fmt::format("`{}` is called `{}` since {} {}", key, life->replacement,
                                    title, life->until);
    out.replacement = life->replacement;
    out.note = life->note;
    out.safety = Safety::safe;
  } else if (life && !life->until.empty() &&
             *Version::parse(life->until) <= *Version::parse(schema.version())) {
    out.message = fmt::format("`{}` was removed in {} {}", key, title, life->until);
    if (!life->note.empty()) {
      out.message += fmt::format(": {}", life->note);
    }
  } else if (life && !life->since.empty() &&
             *Version::parse(life->since) > *Version::parse(schema.version())) {
    out.message = fmt::format("`{}` needs {} {} or later, this is {}", key, title, life->since,
                              schema.version());
  } else if (schema.find(key)) {
    out.message = fmt::format("`{}` is not a key of {}, only of other classes of this section", key,
                              type.empty() ? "the class used here" : fmt::format("`{}`", type));
  } else {
    out.message = fmt::format("`{}` is not a key of {} {}", key, title, schema.version());
    out.replacement = schema.nearest_key(key);
    if (!out.replacement.empty()) {
      out.message += fmt::format("; did you mean `{}`?", out.replacement);
    }
  }
  return out;
}

ValueFault fault_of(const Key& key, const Value& value) {
  ValueFault out;
  if (value.is_unknown() || value.is_null() || !key.type.declared) {
    return out;
  }
  const std::string* text = value.if_string();
  const auto wrong = [&](const char* expected) {
    out.kind = ValueFault::Kind::type;
    out.expected = expected;
  };
  switch (key.type.kind) {
    case Kind::boolean:
      if (text || value.if_list() || value.if_map()) {
        wrong("is true or false");
      }
      break;
    case Kind::integer:
      if ((text && !to_integer(*text)) || value.if_list() || value.if_map()) {
        wrong("is an integer");
      } else if (const double* number = value.if_double()) {
        if (*number != static_cast<double>(static_cast<std::int64_t>(*number))) {
          wrong("is an integer");
        }
      }
      break;
    case Kind::real:
      if ((text && !to_double(*text)) || value.if_list() || value.if_map()) {
        wrong("is a number");
      }
      break;
    case Kind::choice: {
      if (value.if_list() || value.if_map()) {
        wrong("is one name");
        break;
      }
      const std::string shown = value.text();
      if (std::find(key.choices.begin(), key.choices.end(), shown) != key.choices.end()) {
        break;
      }
      out.kind = ValueFault::Kind::choice;
      out.suggestion = nearest(shown, key.choices);
      break;
    }
    case Kind::list:
      if (value.if_map() || value.if_bool()) {
        wrong("is a list");
      }
      break;
    case Kind::map:
      if (!value.if_map()) {
        wrong("is a mapping");
      }
      break;
    case Kind::object:
      if (!value.if_map() && !text) {
        wrong("is a section with fields of its own");
      }
      break;
    case Kind::text:
    case Kind::path:
      if (value.if_map()) {
        wrong("is text");
      }
      break;
    case Kind::any:
      break;
  }
  return out;
}

std::vector<Diagnostic> check_keys(const Config& config, const Schema& schema) {
  std::vector<Diagnostic> out;
  if (schema.framework() != "megatron-bridge") {
    return out;
  }
  Walk walk(schema, config);
  for (const std::string_view path : config.keys()) {
    const Entry& entry = *config.find(path);
    const Step* step = entry.written();
    if (!step || foreign(path)) {
      continue;
    }
    const Found found = walk.find(path);
    if (found.unknown_class || found.inside) {
      continue;
    }
    if (!found.key) {
      const UnknownKey why = describe_unknown_key(schema, path, found.type);
      const std::string_view section = path.substr(0, path.find('.'));
      const bool foreign_class = schema.find(section) && !one_class_only(section);
      if (foreign_class && why.replacement.empty() && !schema.history(path)) {
        continue;  // the class may be one of the user's own
      }
      Diagnostic d = start("KEY101", "unknown-key", config, schema, path, *step);
      d.where = locate(config.key_place(path));
      d.message = why.message;
      d.help = why.note.empty() ? "the framework drops keys that it does not know" : why.note;
      add_rename(d, step->key_span, path, why);
      out.push_back(std::move(d));
      continue;
    }
    const ValueFault fault = fault_of(*found.key, step->value);
    if (fault.kind == ValueFault::Kind::none) {
      continue;
    }
    const bool type = fault.kind == ValueFault::Kind::type;
    Diagnostic d = start(type ? "KEY102" : "KEY103", type ? "key-type" : "key-choice", config,
                         schema, path, *step);
    d.where = locate(config.place(path));
    if (type) {
      d.message = fmt::format("`{}` {}, got `{}`", path, fault.expected, step->value.text());
      if (found.key->type.kind == Kind::boolean && step->value.if_string()) {
        d.help = "text counts as true, whatever it says: leave the quotes out";
      }
    } else {
      d.message = fmt::format("`{}` is one of {}, got `{}`", path, quoted(found.key->choices),
                              step->value.text());
      if (!fault.suggestion.empty()) {
        d.help = fmt::format("did you mean `{}`?", fault.suggestion);
        if (step->value_span && step->value_span.text() == step->value.text()) {
          d.fixes.push_back({fmt::format("Write `{}`", fault.suggestion),
                             Safety::unsafe,
                             {{locate(step->value_span), fault.suggestion}}});
        }
      }
    }
    add_evidence(d, schema, *found.key);
    out.push_back(std::move(d));
  }
  return out;
}

}  // namespace shardlint
