// Launch scripts: each command that starts a training program is a configuration.

#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "frontend/overrides/bridge_arguments.h"
#include "frontend/overrides/bridge_sync.h"
#include "frontend/overrides/hydra.h"
#include "frontend/overrides/hydra_grammar.h"
#include "frontend/shell/edits.h"
#include "frontend/shell/findings.h"
#include "frontend/shell/launcher.h"
#include "frontend/shell/shell.h"
#include "frontend/yaml/write.h"
#include "lint/make_unit.h"
#include "lint/overlay.h"
#include "lint/own_files.h"
#include "schema/schema.h"

namespace shardlint {
namespace {

using shell::Edits;
using shell::Launch;

// A change to a Megatron-LM key, by the flag that sets it.
Edits edit_flag(const Launch& launch, const Schema& schema, const rules::Change& change) {
  const std::string_view on = schema.flag_of(change.key);
  const std::string_view off = schema.flag_of(change.key, true);
  const auto given = [&](std::string_view flag) {
    return !flag.empty() && std::any_of(launch.arguments.begin(), launch.arguments.end(),
                                        [&](const Word& word) { return word.text() == flag; });
  };
  if (change.remove || change.value.is_null()) {
    return given(on) ? shell::remove_flag(launch, on) : shell::remove_flag(launch, off);
  }
  if (const bool* value = change.value.if_bool()) {
    const std::string_view want = *value ? on : off, other = *value ? off : on;
    if (given(other)) {
      return shell::remove_flag(launch, other);
    }
    const Option* option = want.empty() ? nullptr : schema.find_flag(want);
    const bool is_switch =
        option && (option->action == Action::store_true || option->action == Action::store_false ||
                   option->action == Action::boolean_optional);
    return is_switch ? shell::set_flag(launch, want, std::nullopt) : Edits{};
  }
  if (on.empty() || change.value.if_map()) {
    return {};
  }
  if (const List* items = change.value.if_list()) {
    std::vector<std::string> words;
    for (const Value& item : *items) {
      words.push_back(item.text());
    }
    const Option* option = schema.find_flag(on);
    const bool several = option && option->nargs != Nargs::one && option->nargs != Nargs::optional;
    return several ? shell::set_values(launch, on, words) : Edits{};
  }
  return shell::set_flag(launch, on, change.value.text());
}

Edits edit_override(const Launch& launch, const Schema* schema, const rules::Change& change) {
  if (change.remove) {
    return shell::remove_override(launch, change.key);
  }
  // What no tree of verl has can only be added; a word that is there keeps its own prefix.
  const bool added = launch.framework == "verl" && schema && !schema->find(change.key);
  return shell::set_override(launch, (added ? "++" : "") + change.key, override_text(change.value));
}

// The script says what the variable is, and no file that it names.
bool sets_itself(const Launch& launch, std::string_view key) {
  return std::none_of(launch.facts.begin(), launch.facts.end(), [&](const Fact& fact) {
    return fact.key == key && fact.key_span &&
           std::none_of(
               launch.environment.begin(), launch.environment.end(),
               [&](const auto& each) { return each.set_at.source == fact.key_span.source; });
  });
}

// A value that stands in a YAML file which the launch composes is changed there: a plain scalar on
// one line, by another scalar.
Edits edit_composed_file(const Config& config, const rules::Change& change) {
  const Entry* entry = config.find(change.key);
  const Step* step = entry ? entry->written() : nullptr;
  const Span at = step ? step->value_span : Span{};
  if (!at || at.begin == at.end || change.remove || change.value.if_list() ||
      change.value.if_map() || change.value.is_unknown()) {
    return {};
  }
  const std::string& name = at.source->name();
  const std::string_view old = at.text();
  if (!(name.ends_with(".yaml") || name.ends_with(".yml")) ||
      old.find_first_of("\n\"'[]{}&*|>$") != std::string_view::npos) {
    return {};
  }
  return {Edit{locate(at), yaml::write_value(change.value, yaml::Mode::omegaconf)}};
}

Edits edit_launch(const Launch& launch, const Config& config, const std::string& version,
                  std::span<const rules::Change> changes) {
  Edits out;
  const Schema* schema = Schema::get(launch.framework, version);
  for (const rules::Change& change : changes) {
    Edits made;
    if (change.key.starts_with("env.")) {
      const std::string name = change.key.substr(4);
      if (!sets_itself(launch, change.key)) {
        return {};  // an export could not change what a file for Ray says
      }
      made = change.remove || change.value.is_null()
                 ? shell::remove_environment(launch, name)
                 : shell::set_environment(launch, name, change.value.text());
    } else if (launch.framework == "megatron-lm") {
      made = schema ? edit_flag(launch, *schema, change) : Edits{};
    } else if (made = edit_composed_file(config, change); made.empty()) {
      made = edit_override(launch, schema, change);
    }
    if (made.empty()) {
      return {};
    }
    out.insert(out.end(), made.begin(), made.end());
  }
  return out;
}

// `<path of the data>`, expanded without quotes, is several words to bash and one blank to people,
// who have SHL201 for it: here it is one word that is not known.
std::vector<Word> whole_placeholders(const std::vector<Word>& words) {
  constexpr std::size_t longest = 12;
  std::vector<Word> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    out.push_back(words[i]);
    const std::string text = words[i].text();
    const std::size_t open = text.rfind('<');
    if (open == std::string::npos || text.find('>', open) != std::string::npos) {
      continue;
    }
    std::size_t end = i + 1;
    while (end < words.size() && end - i < longest &&
           words[end].text().find_first_of("<>") == std::string::npos) {
      ++end;
    }
    if (end >= words.size() || words[end].text().find('>') == std::string::npos) {
      continue;
    }
    const Span place = words[i].place();
    const auto why =
        std::make_shared<const Unknown>(Unknown{Reason::argument, text + " ...>", place, true, {}});
    Piece rest;
    rest.text = std::string(1, Word::unknown_mark);
    rest.span = place;
    rest.unknown = why;
    out.back().pieces = {rest};
    if (const std::size_t equals = text.find('='); equals < open) {  // key=<...>
      out.back() = words[i].slice(0, equals + 1);
      out.back().pieces.push_back(rest);
    }
    i = end;
  }
  return out;
}

void add_facts(ReadFile& out, const Launch& launch, Facts facts,
               std::vector<Diagnostic> diagnostics, const Options& options,
               const OwnTarget& target) {
  for (Diagnostic& each : diagnostics) {
    each.instance = launch.instance;
    out.diagnostics.push_back(std::move(each));
  }
  facts.framework = launch.framework;
  facts.instance = launch.instance;
  facts.anchor = launch.span;
  facts.facts.insert(facts.facts.begin(), launch.facts.begin(), launch.facts.end());
  add_unit(out, std::move(facts), options, target);
}

// Words that cannot be known may set anything, so that the recipe's own values say nothing.
bool may_set_anything(const Launch& launch) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(),
                     [](const Word& word) { return word.open && !word.known(); });
}

// A launcher of Megatron-Bridge starts from a recipe, then comes a file, then the command line.
void lay_under(ReadFile& out, BridgeRun& run, const Launch& launch, Sources& sources,
               Bench& bench) {
  const Disk& disk = bench.disk;
  Facts& facts = run.facts;
  if (!run.config_file.empty() && launch.span) {
    const auto path = find_beside(literal_word(run.config_file), launch.span.source->name(), disk);
    if (const auto file = path ? override_file(*path, sources, disk) : std::nullopt) {
      facts.facts.insert(facts.facts.begin(), file->facts.begin(), file->facts.end());
    }
  }
  if (facts.base.empty() || !launch.span || may_set_anything(launch)) {
    return;
  }
  std::vector<Diagnostic> ignored;  // those of the recipe's own file
  PythonReaders::Reading reading =
      bench.python.recipe(facts.base, launch.span.source->name(), launch.span, ignored);
  if (reading.configurations.empty()) {
    return;
  }
  Facts& recipe = reading.configurations.front();
  if (!run.dataset.empty()) {
    drop_dataset(recipe, run.dataset);
  }
  facts.facts.insert(facts.facts.begin(), recipe.facts.begin(), recipe.facts.end());
  facts.closed = facts.closed || recipe.closed;
  out.owners.push_back(std::move(reading.owner));
  if (run.syncs) {
    add_recipe_syncs(facts, names_finetuning(run.mode) || names_finetuning(facts.base));
  }
}

// What Hydra refuses because there is no such key can only go.
void offer_removal(std::vector<Diagnostic>& diagnostics, const Launch& launch) {
  for (Diagnostic& d : diagnostics) {
    if (d.code != "HYD101" || !d.fixes.empty()) {
      continue;
    }
    if (Edits edits = shell::remove_override(launch, d.key.path); !edits.empty()) {
      d.fixes.push_back({"Remove `" + d.key.path + "`", Safety::unsafe, std::move(edits)});
    }
  }
}

// ray job submit --runtime-env FILE: what the file says goes over what the script exports.
void add_runtime_environment(Launch& launch, Sources& sources, const Disk& disk) {
  constexpr std::string_view option = "--runtime-env";
  const std::vector<Word>& words = launch.launcher;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string text = words[i].text();
    const bool joined = text.starts_with(option) && text.substr(option.size()).starts_with('=');
    if (!launch.span || (!joined && (text != option || i + 1 >= words.size()))) {
      continue;
    }
    const Word file = joined ? words[i].slice(option.size() + 1) : words[i + 1];
    const auto path = find_beside(file, launch.span.source->name(), disk);
    if (!path) {
      continue;
    }
    for (Fact& fact : runtime_environment(*path, sources, disk)) {
      std::erase_if(launch.facts, [&](const Fact& own) { return own.key == fact.key; });
      launch.facts.push_back(std::move(fact));
    }
  }
}

void add_launch(ReadFile& out, const Launch& launch, Sources& sources, Bench& bench) {
  const Disk& disk = bench.disk;
  const Options& options = bench.options;
  const std::string script = launch.span ? launch.span.source->name() : "";
  const OwnTarget target = own_target(options, bench.copies, launch.framework, script);
  const std::string& version = target.version;
  const std::vector<Word> arguments = whole_placeholders(launch.arguments);
  if (launch.framework == "megatron-lm") {
    Facts context;
    context.instance = launch.instance;
    context.anchor = launch.span;
    context.facts = launch.facts;
    const bool infers = launch.program.find("inference") != std::string::npos ||
                        launch.program.find("text_generation") != std::string::npos;
    context.facts.push_back({"derived.run_mode",
                             infers ? "inference" : "pretraining",
                             {},
                             {},
                             Origin::default_value,
                             ""});
    add_argument_list(out, arguments, std::move(context), launch.program, options, target);
  } else if (launch.framework == "verl") {
    OwnTrees own =
        own_trees(launch.arguments, launch.program, launch.module, script, sources, disk);
    HydraOptions with;
    with.version = version;
    with.program = launch.program;
    if (target.copy) {
      own.lie_over(*target.copy);
      with.has_field = [copy = target.copy](std::string_view in, std::string_view field) {
        return copy->has_field(in, field);
      };
    }
    const bool backend = std::any_of(launch.launcher.begin(), launch.launcher.end(),
                                     [](const Word& w) { return w.text() == "verl_mlite.launch"; });
    with.own_files = own.find;
    with.own_places = own.place;
    with.more_trees = own.unreachable || backend;
    HydraRun run = read_hydra_arguments(arguments, with);
    for (Diagnostic& each : run.diagnostics) {
      if (each.code == "HYD110") {  // its classes are the catalogue's, the tree is the copy's
        doubt(each, target.doubt());
      }
    }
    offer_removal(run.diagnostics, launch);
    add_facts(out, launch, std::move(run.facts), std::move(run.diagnostics), options, target);
  } else {
    BridgeRun run = read_bridge_arguments(arguments, {version, launch.program});
    lay_under(out, run, launch, sources, bench);
    for (Diagnostic& each : run.diagnostics) {
      doubt(each, target.doubt());
    }
    add_facts(out, launch, std::move(run.facts), std::move(run.diagnostics), options, target);
  }
  out.units.back().passed_on = launch.passed_on;
  auto kept = std::make_shared<const Launch>(launch);
  out.units.back().edit = [kept, version](const Config& config,
                                          std::span<const rules::Change> changes) {
    return edit_launch(*kept, config, version, changes);
  };
}

}  // namespace

ReadFile read_shell(const Source& source, Sources& sources, Bench& bench) {
  shell::Options with;
  for (const std::string& each : bench.options.env) {
    const std::size_t equals = each.find('=');
    if (equals != std::string::npos) {
      with.environment[std::string(trim(each.substr(0, equals)))] = each.substr(equals + 1);
    }
  }
  const shell::Evaluation evaluation = shell::evaluate(source, sources, bench.disk, with);
  std::vector<Launch> launches = shell::launches(evaluation);
  ReadFile out;
  if (launches.empty()) {
    return out;  // a script that trains nothing
  }
  out.framework = launches.front().framework;
  out.diagnostics = evaluation.diagnostics;
  for (Diagnostic& each : shell::script_findings(evaluation, launches)) {
    out.diagnostics.push_back(std::move(each));
  }
  for (Launch& launch : launches) {
    add_runtime_environment(launch, sources, bench.disk);
    add_launch(out, launch, sources, bench);
    std::vector<BroughtValue> brought = brought_values(launch);
    std::move(brought.begin(), brought.end(), std::back_inserter(out.brought));
  }
  return out;
}

}  // namespace shardlint
