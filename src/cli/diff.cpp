// shardlint diff A B: two configurations by effective value, grouped by what a key changes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/effective.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "lint/compare.h"
#include "rules/state.h"

namespace shardlint {
namespace {

using json = nlohmann::ordered_json;

struct Pair {
  const Effective *a, *b;
  Comparison comparison;
};

std::string names_of(const std::vector<Effective>& all) {
  std::vector<std::string> names;
  for (const Effective& each : all) {
    names.push_back(each.instance.empty() ? "one without a name" : each.instance);
  }
  return join(names, ", ");
}

// One with one, else those of one name. Throws Error when none belong together.
std::vector<Pair> pair_up(const std::vector<Effective>& a, const std::vector<Effective>& b) {
  std::vector<Pair> out;
  if (a.size() == 1 && b.size() == 1) {
    out.push_back({&a.front(), &b.front(), compare(a.front(), b.front())});
    return out;
  }
  for (const Effective& left : a) {
    for (const Effective& right : b) {
      if (left.instance == right.instance) {
        out.push_back({&left, &right, compare(left, right)});
        break;
      }
    }
  }
  if (out.empty()) {
    throw Error(fmt::format("which belong together? {} holds {}; {} holds {}; say it as FILE::NAME",
                            a.front().file, names_of(a), b.front().file, names_of(b)));
  }
  return out;
}

std::string_view kind_name(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::differs:
      return "differs";
    case Difference::Kind::undecided:
      return "undecided";
    case Difference::Kind::only_a:
      return "only_a";
    case Difference::Kind::only_b:
      return "only_b";
  }
  return "differs";
}

// `other` is the side that has the key, where `key` is null: variables and machines have no
// default.
std::string side_value(const EffectiveKey* key, const EffectiveKey* other) {
  return key                                  ? value_text(*key)
         : rules::is_machine_fact(other->key) ? "(not set)"
                                              : "(no such key)";
}

std::string change_text(const Difference& d) {
  const bool renamed = d.a && d.b && d.a->key != d.b->key;
  return fmt::format("{}{}: {} -> {}{}", d.key, renamed ? " (" + d.b->key + ")" : "",
                     side_value(d.a, d.b), side_value(d.b, d.a),
                     d.kind == Difference::Kind::undecided ? "  (not decided)" : "");
}

// The differences of one group; those told above come without their origins.
std::string group_text(std::string_view name, const std::vector<const Difference*>& group,
                       std::set<const Difference*>& told) {
  if (group.empty()) {
    return "";
  }
  std::string out = fmt::format("\n{} ({})\n", name, group.size());
  std::string_view what;
  for (const Difference* d : group) {
    if (d->effect && d->effect->what != what) {
      what = d->effect->what;
      out += fmt::format("  # {}\n", what);
    }
    out += fmt::format("  {}\n", change_text(*d));
    if (!told.insert(d).second) {
      continue;
    }
    out += d->a ? fmt::format("      - {}\n", origin_text(*d->a)) : "";
    out += d->b ? fmt::format("      + {}\n", origin_text(*d->b)) : "";
  }
  return out;
}

std::string more_defaults(const std::vector<std::string>& keys, std::string_view side) {
  if (keys.empty()) {
    return "";
  }
  return fmt::format("\nset by nobody, known to {} alone: {}\n", side,
                     keys.size() > 5
                         ? fmt::format("{} keys; --output-format json lists them", keys.size())
                         : join(keys, ", "));
}

std::string text(const Pair& pair) {
  const Comparison& c = pair.comparison;
  std::string out = fmt::format("--- {}\n+++ {}\n", title(*pair.a), title(*pair.b));
  const auto refused = [&](const Effective& side, char sign) {
    if (!side.refused.empty()) {
      out += fmt::format("{} upstream refuses this: {}\n", sign, join(side.refused, ", "));
    }
  };
  refused(*pair.a, '-');
  refused(*pair.b, '+');
  out += fmt::format("{} {}, {} the same\n", c.differences.size(),
                     c.differences.size() == 1 ? "key differs" : "keys differ", c.same);
  std::set<const Difference*> told;
  const auto group = [&](auto belongs) {
    std::vector<const Difference*> members;
    for (const EffectRow& row : effect_rows()) {
      for (const Difference& d : c.differences) {
        if (d.effect == &row && belongs(d)) {
          members.push_back(&d);
        }
      }
    }
    return members;
  };
  for (const Effect effect : {Effect::memory, Effect::communication, Effect::numerics,
                              Effect::checkpoints, Effect::nothing}) {
    const auto has = [&](const Difference& d) {
      return std::count(d.effect->effects.begin(), d.effect->effects.end(), effect) > 0;
    };
    const std::string name =
        effect == Effect::nothing ? "nothing of these" : std::string(effect_name(effect));
    out += group_text(name, group(has), told);
  }
  std::vector<const Difference*> rest;
  for (const Difference& d : c.differences) {
    if (!d.effect) {
      rest.push_back(&d);
    }
  }
  out += group_text("not classified", rest, told);
  return out + more_defaults(c.defaults_of_a, "the first") +
         more_defaults(c.defaults_of_b, "the second");
}

json document(const std::vector<Pair>& pairs) {
  json out = {{"version", 1}, {"comparisons", json::array()}};
  for (const Pair& pair : pairs) {
    json differences = json::array();
    for (const Difference& d : pair.comparison.differences) {
      json effects = json::array();
      if (d.effect) {
        for (const Effect effect : d.effect->effects) {
          effects.push_back(effect_name(effect));
        }
      }
      differences.push_back({{"key", d.key},
                             {"kind", kind_name(d.kind)},
                             {"effects", std::move(effects)},
                             {"what", d.effect ? json(d.effect->what) : json(nullptr)},
                             {"a", d.a ? key_json(*d.a) : json(nullptr)},
                             {"b", d.b ? key_json(*d.b) : json(nullptr)}});
    }
    out["comparisons"].push_back({{"a", configuration_json(*pair.a)},
                                  {"b", configuration_json(*pair.b)},
                                  {"same", pair.comparison.same},
                                  {"differences", std::move(differences)},
                                  {"defaults_of_a", pair.comparison.defaults_of_a},
                                  {"defaults_of_b", pair.comparison.defaults_of_b}});
  }
  return out;
}

}  // namespace

int run_diff(Arguments arguments) {
  const auto [own, foreign, dashes] = split_at_dashes(arguments);
  std::vector<std::string> sides, target_a, target_b, patterns;
  std::string format = "text";
  Options options;
  ProjectFlags project_flags;
  CLI::App app(
      "Two configurations compared by the values that will be in force, grouped into what changes "
      "memory, communication, numerics, checkpoints and nothing of these.",
      "shardlint diff");
  app.footer(
      "shardlint diff A -- FLAGS... compares with a Megatron-LM argument list.\n"
      "Exit codes: 0 nothing differs, 1 something does, 2 could not do it.");
  app.add_option("sides", sides, "two files; FILE::INSTANCE is one configuration of several");
  app.add_option("--target-a", target_a, "the first one's version")
      ->type_name("FRAMEWORK==VERSION")
      ->allow_extra_args(false);
  app.add_option("--target-b", target_b, "the second one's version")
      ->type_name("FRAMEWORK==VERSION")
      ->allow_extra_args(false);
  app.add_option("--key", patterns, "only keys like this; * stands for anything")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  app.add_option("--output-format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  add_lint_flags(app, options);
  add_project_flags(app, project_flags);
  if (const std::optional<int> code = parse(app, own)) {
    return *code;
  }
  if (sides.size() + (foreign.empty() ? 0 : 1) != 2) {
    throw Error("diff takes two files, or a file and an argument list after `--`");
  }
  const auto project = [&](const std::vector<std::string>& targets) {
    Options with = options;
    with.targets.insert(with.targets.end(), targets.begin(), targets.end());
    return Project(project_flags, with);
  };
  Project first = project(target_a), second = project(target_b);
  const std::vector<Effective> a = resolve_named(sides.front(), first);
  const std::vector<Effective> b = foreign.empty()
                                       ? resolve_named(sides.back(), second)
                                       : resolve_arguments(foreign, second.options_of("."));
  std::vector<Pair> pairs = pair_up(a, b);
  bool differs = false;
  for (Pair& pair : pairs) {
    std::erase_if(pair.comparison.differences,
                  [&](const Difference& d) { return !key_wanted(patterns, d.a ? *d.a : *d.b); });
    differs = differs || !pair.comparison.differences.empty();
  }
  if (format == "json") {
    fmt::print("{}\n", document(pairs).dump(2));
    return differs ? 1 : 0;
  }
  for (const Pair& pair : pairs) {
    fmt::print("{}{}", &pair == pairs.data() ? "" : "\n", text(pair));
  }
  return differs ? 1 : 0;
}

}  // namespace shardlint
