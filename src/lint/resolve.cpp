#include "lint/resolve.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "discover/discover.h"
#include "lint/judge.h"
#include "lint/targets.h"
#include "lint/units.h"
#include "rules/render.h"
#include "rules/state.h"
#include "schema/schema.h"

namespace shardlint {
namespace {

std::string anchor(std::string_view repository, std::string_view commit, std::string_view place) {
  return place.empty() ? "" : fmt::format("{} {} {}", repository, commit.substr(0, 8), place);
}

// Makes the rows of one configuration from what the program left of it.
class Effects {
 public:
  Effects(const rules::Program& program, Config& after, rules::World world)
      : schema_(*program.schema), config_(after), state_(after, schema_, world) {
    for (const rules::ProgramStep& step : program.steps) {
      if (step.rewrite) {
        steps_.emplace(step.rewrite->id, step.rewrite);
      }
    }
  }

  std::vector<EffectiveKey> keys() {
    std::set<std::string> names;
    for (const std::string_view key : config_.keys()) {
      if (!key.starts_with("derived.")) {  // names of the program's own steps
        names.emplace(key);
      }
    }
    for (const Key& key : schema_.keys()) {
      if (could_stand(key)) {
        names.insert(std::string(key.name));
      }
    }
    std::vector<EffectiveKey> out;
    for (const std::string& name : names) {
      out.push_back(row(name));
    }
    return out;
  }

 private:
  // Whether a key that nobody mentions is part of this configuration. A composed tree and a recipe
  // name all of theirs; of the rest, what lies in a section that is not there is not part of it.
  bool could_stand(const Key& key) const {
    if (key.type.kind == Kind::object || config_.has_prefix(key.name) ||
        !schema_.section_classes(key.name).empty()) {
      return false;  // a section
    }
    if (schema_.framework() == "megatron-lm") {
      return true;
    }
    if (schema_.framework() == "verl") {
      return config_.base.empty() && !config_.closed;
    }
    const std::string_view section = key.name.substr(0, key.name.rfind('.'));
    return section == key.name || config_.has_prefix(section) || !config_.closed;
  }

  EffectiveStep default_step(std::string_view name, Value value) const {
    EffectiveStep out;
    out.value = std::move(value);
    out.origin = Origin::default_value;
    const Key* key = schema_.find(name);
    if (!key) {
      out.by = schema_.framework() == "verl" && !config_.base.empty() ? config_.base : "";
      return out;
    }
    if (const std::string_view flag = schema_.flag_of(name); !flag.empty()) {
      out.by = flag;
    } else if (const std::string_view off = schema_.flag_of(name, true); !off.empty()) {
      out.by = off;
    } else if (!key->owner.empty()) {
      out.by = key->owner.substr(key->owner.rfind('.') + 1);
    } else if (schema_.framework() == "verl" && !config_.base.empty()) {
      out.by = config_.base;
    }
    out.upstream = anchor(schema_.repository(), schema_.commit(), key->anchor);
    return out;
  }

  EffectiveStep plain_step(std::string_view name, const Step& step) const {
    EffectiveStep out;
    if (step.origin == Origin::default_value && !step.key_span && !step.value_span) {
      out = default_step(name, step.value);
      out.by = step.by.empty() ? out.by : step.by;
    } else {
      out = {step.value, step.origin, locate(step.value_span ? step.value_span : step.key_span),
             step.by, ""};
    }
    if (const auto at = steps_.find(step.by); at != steps_.end() && !at->second->evidence.empty()) {
      const rules::EvidenceRow& row = at->second->evidence.front();
      out.upstream = anchor(row.repo, row.commit, fmt::format("{}:{}", row.path, row.lines));
    }
    return out;
  }

  EffectiveKey row(const std::string& name) {
    EffectiveKey out;
    out.key = name;
    out.canonical = std::string(schema_.canonical(name));
    const Entry* entry = config_.find(name);
    if (!entry) {
      out.chain.push_back(default_step(name, state_.key(name)));
    } else {
      const Origin first = entry->chain.front().origin;
      const Key* key = schema_.find(name);
      if (key && (first == Origin::rewritten || first == Origin::computed) &&
          steps_.count(entry->chain.front().by) && key->has_cli + key->has_cls > 0) {
        out.chain.push_back(default_step(name, schema_.default_of(*key)));
      }
      for (const Step& step : entry->chain) {
        if (out.chain.empty() || !steps_.count(step.by) ||
            !(out.chain.back().value == step.value)) {  // a step that changes nothing is none
          out.chain.push_back(plain_step(name, step));
        }
      }
    }
    if (out.value().is_unknown()) {
      state_.begin(nullptr);
      out.unknown = rules::unknown_input(name, state_);
      if (const Key* key = entry ? nullptr : schema_.find(name);
          key && out.value().if_unknown()->reason == Reason::absent) {
        const Value fallback = schema_.default_of(*key);
        out.unknown->detail =
            fmt::format("not set here; the default is `{}`{}{}",
                        fallback.is_unknown() ? "not known" : fallback.text(),
                        out.chain.back().by.empty() ? "" : " of ", out.chain.back().by);
      }
    }
    for (EffectiveStep& step : out.chain) {
      forget_source(step.value);
    }
    return out;
  }

  // The text that a value came from does not outlive this.
  static void forget_source(Value& value) {
    if (const Unknown* u = value.if_unknown()) {
      Unknown plain = *u;
      plain.where = {};
      value = std::move(plain);
    }
  }

  const Schema& schema_;
  Config& config_;
  rules::State state_;
  std::map<std::string_view, const rules::Rewrite*> steps_;
};

std::vector<Effective> resolve_units(const ReadFile& read, const std::string& path,
                                     const Options& options) {
  const RuleBook book(options);
  std::vector<Effective> out;
  for (const Unit& unit : read.units) {
    const rules::Program* program = book.program(unit.config.framework, unit.version);
    if (!program) {
      continue;
    }
    const rules::World world = unit.config.closed ? rules::World::closed : rules::World::open;
    rules::Run run = rules::run(*program, unit.config, world);
    Effective effective;
    effective.file = path;
    effective.instance = unit.config.instance;
    effective.framework = unit.config.framework;
    effective.version = std::string(program->schema->version());
    effective.measured = !unit.version.empty();
    if (const auto place = options.target_places.find(unit.config.framework + "==" + unit.version);
        place != options.target_places.end()) {
      effective.version_place = place->second;
    }
    effective.closed = unit.config.closed;
    effective.keys = Effects(*program, run.config, world).keys();
    for (const rules::Finding& finding : run.findings) {
      if (finding.diagnostic.verdict == Verdict::violation &&
          finding.diagnostic.severity == Severity::error) {
        effective.refused.push_back(finding.diagnostic.code + " " + finding.diagnostic.name);
      }
    }
    out.push_back(std::move(effective));
  }
  if (out.empty()) {
    throw Error(fmt::format("{} holds no training configuration", path));
  }
  return out;
}

}  // namespace

const EffectiveStep* EffectiveKey::written() const {
  for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
    if (!step->where.file.empty()) {
      return &*step;
    }
  }
  return nullptr;
}

bool EffectiveKey::changed() const {
  const EffectiveStep* step = written();
  return step && step != &chain.back() && !(step->value == value());
}

const EffectiveKey* Effective::find(std::string_view key) const {
  const auto at =
      std::lower_bound(keys.begin(), keys.end(), key,
                       [](const EffectiveKey& a, std::string_view b) { return a.key < b; });
  return at != keys.end() && at->key == key ? &*at : nullptr;
}

std::vector<Effective> resolve_file(const std::string& path, const Options& options) {
  const RealDisk real;
  const MemoryDisk disk = disk_with_unsaved(options, real);
  std::optional<std::string> text = disk.read(path);
  if (!text) {
    throw Error(fmt::format("cannot read {}", path));
  }
  Sources sources;
  const FoundFile file{path, kind_of(path, *text), true};
  PinnedOptions pinned(disk, options);
  Bench bench(disk, pinned.of(path));
  return resolve_units(read_file(file, std::move(*text), sources, bench), path, bench.options);
}

std::vector<Effective> resolve_arguments(std::span<const std::string> arguments,
                                         const Options& options) {
  Sources sources;
  const RealDisk disk;
  PinnedOptions pinned(disk, options);
  const Options& with = pinned.of("arguments");  // of the folder that we are in
  return resolve_units(read_arguments(arguments, sources, with), "<arguments>", with);
}

}  // namespace shardlint
