#include "rules/examples.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "facts/config.h"
#include "frontend/overrides/argparse.h"
#include "frontend/overrides/hydra.h"
#include "frontend/overrides/hydra_grammar.h"
#include "rules/engine.h"
#include "rules/literal.h"
#include "rules/mutate.h"
#include "schema/schema.h"

namespace shardlint::rules {
namespace {

void set(Config& config, const Source& source, std::string key, Value value) {
  config.set(key, {std::move(value), Origin::set, {&source, 0, 0}, {}, ""});
}

// "sm_90" and friends, as the front ends would give it.
void set_gpu(Config& config, const Source& source, const Example& example) {
  const auto digits = example.gpu.substr(example.gpu.find('_') + 1);
  const Value number = from_literal(digits);
  if (!number.if_integer()) {
    return;
  }
  const std::int64_t major = *number.if_integer() / 10, minor = *number.if_integer() % 10;
  const bool pair = example.framework == "megatron-bridge";
  set(config, source, "device.compute_capability", pair ? Value(List{major, minor}) : Value(major));
  set(config, source, "device_capability", major);
  set(config, source, "device.cuda_available", true);
}

// A word of an example; what stands as ${NAME} to its end is not known.
Word word_of(std::string_view text, const Span& at) {
  const std::size_t known = std::min(text.find("${"), text.size());
  Word out = literal_word(std::string(text.substr(0, known)));
  if (known < text.size()) {
    Piece piece;
    piece.text = std::string(1, Word::unknown_mark);
    piece.verbatim = false;
    piece.quoted = true;
    piece.unknown = std::make_shared<Unknown>(
        Unknown{Reason::environment, std::string(text.substr(known)), {}, false, {}});
    if (known == 0) {
      out.pieces.clear();
    }
    out.pieces.push_back(std::move(piece));
  }
  for (Piece& piece : out.pieces) {
    piece.span = at;
  }
  return out;
}

// The argument list as the framework's own front end reads it.
void read_arguments(const Example& example, const Source& source, Config& config) {
  std::vector<Word> words;
  for (const Text word : example.argv) {
    words.push_back(word_of(word, {&source, 0, 0}));
  }
  Facts facts;
  if (example.framework == "verl") {
    HydraOptions options;
    options.version = example.version;
    options.config_name = "ppo_trainer";
    HydraRun run = read_hydra_arguments(words, options);
    const auto refused = [](const Diagnostic& d) {
      return d.severity == Severity::error && d.code != "HYD110";
    };
    if (const auto d = std::find_if(run.diagnostics.begin(), run.diagnostics.end(), refused);
        d != run.diagnostics.end()) {
      throw Error(fmt::format("example {}: {}", example.id, d->message));
    }
    facts = std::move(run.facts);
    config.base = facts.base;
  } else {
    facts = read_argument_list(words, {std::string(example.version), ""}).facts;
  }
  for (const Fact& fact : facts.facts) {
    const bool written = fact.key_span || fact.value_span || facts.framework != "verl";
    config.set(fact.key, {fact.value, fact.origin, written ? Span{&source, 0, 0} : Span{}, {}, ""});
  }
  config.closed = example.closed && facts.closed;
}

Config configuration(const Example& example, const Source& source) {
  Config config;
  config.framework = std::string(example.framework);
  config.closed = example.closed;
  if (!example.argv.empty()) {
    read_arguments(example, source, config);
  }
  for (const Pair& pair : example.values) {
    set(config, source, std::string(pair.key), from_literal(pair.value));
  }
  for (const Pair& pair : example.env) {
    set(config, source, "env." + std::string(pair.key), from_literal(pair.value));
  }
  if (example.world_size > 0) {
    set(config, source, "world_size", example.world_size);
  }
  set_gpu(config, source, example);
  return config;
}

bool touches(std::string_view a, std::string_view b) {
  const auto inside = [](std::string_view section, std::string_view key) {
    return key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
  };
  return a == b || inside(a, b) || inside(b, a);
}

// The program without the rewrites that no later check can feel.
void slice(Program& program) {
  std::set<std::string_view> felt;
  std::vector<ProgramStep> kept;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const auto is_felt = [&](const FixEdit& set) {
      return std::any_of(felt.begin(), felt.end(),
                         [&](std::string_view key) { return touches(key, set.target); });
    };
    if (step->rewrite &&
        std::none_of(step->rewrite->sets.begin(), step->rewrite->sets.end(), is_felt)) {
      continue;
    }
    felt.insert(step->keys.begin(), step->keys.end());
    kept.push_back(*step);
  }
  std::reverse(kept.begin(), kept.end());
  program.steps = std::move(kept);
}

// A case as it is written: for verl, the bound copies of it.
using Copies = std::vector<std::size_t>;

// One rule with what its examples need, made once: programs and configurations.
class Bench {
 public:
  Bench(const RuleSet& rules, const Rule& rule) : alone_{rules.stages, rules.rewrites, {rule}} {
    for (const Example& example : examples()) {
      configurations_.push_back(configuration(example, source_));
    }
  }
  Bench(const Bench&) = delete;

  const Rule& rule() const { return alone_.rules.front(); }
  const std::vector<Example>& examples() const { return rule().examples; }

  std::vector<Copies> cases() const {
    std::vector<Copies> out;
    for (std::size_t i = 0; i < rule().cases.size(); ++i) {
      const auto same = std::find_if(out.begin(), out.end(), [&](const Copies& copies) {
        return rule().cases[copies.front()].id == rule().cases[i].id;
      });
      if (same == out.end()) {
        out.push_back({i});
      } else {
        same->push_back(i);
      }
    }
    return out;
  }

  // fail, pass, unknown, not-applicable.
  std::string outcome(std::size_t example) {
    return outcome(examples()[example], configurations_[example]);
  }
  std::string outcome(const Example& example) {
    return outcome(example, configuration(example, source_));
  }

  // What is wrong with the fixes that a failing example is offered: each must make it hold. Empty:
  // nothing, or there is none.
  std::string fault_of_fixes(std::size_t index, Programs* all) {
    const Example& example = examples()[index];
    const Config& config = configurations_[index];
    const Program* program = program_for(example);
    std::string fault;
    for (const Finding& finding :
         run(*program, config, config.closed ? World::closed : World::open).findings) {
      if (!example.case_id.empty() && finding.check->id != example.case_id) {
        continue;
      }
      for (const FixPlan& plan : finding.plans) {
        offered_.insert({finding.check->id, plan.row});
        if (plan.safety == Safety::display) {
          continue;
        }
        Config after;
        try {
          after = fixed(example, config, plan);
        } catch (const Error& error) {
          fault = fmt::format("the fix `{}` cannot be composed: {}", plan.title, error.what());
          continue;
        }
        if (still_fails(*program, after, finding)) {
          fault = fmt::format("after the fix `{}` it fails as before", plan.title);
        } else if (const std::string other =
                       all ? new_errors(*all, *program->schema, config, after) : "";
                   !other.empty()) {
          fault = fmt::format("the fix `{}` brings {}", plan.title, other);
        }
      }
    }
    return fault;
  }

  // Whether a failing example that was looked at was offered this fix of a case.
  bool was_offered(Text case_id, std::size_t row) const {
    return offered_.contains({case_id, row});
  }

  // The outcomes of all examples with other conditions in the place of a case's own.
  std::vector<std::string> outcomes(const Copies& copies, const std::vector<Case>& instead) {
    const auto swap_cases = [&](bool back) {
      for (auto& [schema, program] : programs_) {
        for (ProgramStep& step : program.steps) {
          for (std::size_t i = 0; i < copies.size(); ++i) {
            const Case *own = &rule().cases[copies[i]], *other = &instead[i];
            if (step.check == (back ? other : own)) {
              step.check = back ? own : other;
              break;
            }
          }
        }
      }
    };
    for (const Example& example : examples()) {
      program_for(example);
    }
    swap_cases(false);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < examples().size(); ++i) {
      out.push_back(outcome(i));
    }
    swap_cases(true);
    return out;
  }

 private:
  std::string outcome(const Example& example, const Config& config) {
    const Program* program = program_for(example);
    if (!program) {
      return "no such framework";
    }
    const auto meant = [&](const Case& check) {
      return example.case_id.empty() || check.id == example.case_id;
    };
    if (std::none_of(program->steps.begin(), program->steps.end(),
                     [&](const ProgramStep& step) { return step.check && meant(*step.check); })) {
      return "not-applicable";
    }
    std::string worst = "pass";
    const World world = config.closed ? World::closed : World::open;
    for (const Finding& finding : run(*program, config, world).findings) {
      if (meant(*finding.check)) {
        const bool violated = finding.diagnostic.verdict == Verdict::violation;
        worst = violated || worst == "fail" ? "fail" : "unknown";
      }
    }
    return worst;
  }

  // verl: the overrides with the changes among them, composed anew.
  static Example overridden(Example example, const FixPlan& plan, Pool& pool) {
    const auto bare = [](std::string_view word) {
      word.remove_prefix(std::min(word.find_first_not_of("+~"), word.size()));
      return word.substr(0, word.find('='));
    };
    const Schema* schema = Schema::get("verl", example.version);
    for (const Change& change : plan.changes) {
      if (change.key.starts_with("env.")) {
        const std::string_view name = std::string_view(change.key).substr(4);
        std::erase_if(example.env, [&](const Pair& pair) { return pair.key == name; });
        if (!change.remove) {
          example.env.push_back({pool.keep(std::string(name)), pool.keep(literal(change.value))});
        }
        continue;
      }
      bool forced = !(schema && schema->find(change.key));  // a ++ that was there stays
      std::erase_if(example.argv, [&](std::string_view word) {
        const bool same = bare(word) == change.key;
        forced = forced || (same && word.starts_with("+"));
        return same;
      });
      if (!change.remove) {
        example.argv.push_back(
            pool.keep((forced ? "++" : "") + change.key + "=" + override_text(change.value)));
      }
    }
    if (example.argv.empty()) {
      example.argv.push_back("--config-name=ppo_trainer");  // the tree without overrides
    }
    return example;
  }

  // The configuration after a fix.
  Config fixed(const Example& example, Config config, const FixPlan& plan) const {
    if (example.framework == "verl" && !example.argv.empty()) {
      Pool pool;
      return configuration(overridden(example, plan, pool), source_);
    }
    for (const Change& change : plan.changes) {
      if (change.remove) {
        config.remove(change.key);
      } else {
        // As a reader of files would give it: torch.float32 is float32.
        const std::string* text = change.value.if_string();
        const bool dtype = text && text->starts_with("torch.");
        config.set(
            change.key,
            {dtype ? Value(text->substr(6)) : change.value, Origin::set, {&source_, 0, 0}, {}, ""});
      }
    }
    return config;
  }

  bool still_fails(const Program& program, const Config& config, const Finding& finding) const {
    const World world = config.closed ? World::closed : World::open;
    const Run again = run(program, config, world);
    return std::any_of(again.findings.begin(), again.findings.end(), [&](const Finding& other) {
      return other.check == finding.check && other.diagnostic.verdict == Verdict::violation;
    });
  }

  // The errors that all rules together find after a fix and did not find before it.
  std::string new_errors(Programs& all, const Schema& schema, const Config& before,
                         const Config& after) const {
    const auto errors = [&](const Config& config) {
      std::set<std::pair<std::string, std::string>> out;  // code and role
      for (const Finding& finding :
           run(all.of(schema), config, config.closed ? World::closed : World::open).findings) {
        const Diagnostic& d = finding.diagnostic;
        if (d.severity == Severity::error && d.verdict == Verdict::violation) {
          out.emplace(d.code, d.instance);
        }
      }
      return out;
    };
    const auto old = errors(before);
    std::string text;
    for (const auto& error : errors(after)) {
      text += old.contains(error) ? "" : (text.empty() ? "" : ", ") + error.first;
    }
    return text;
  }

  Program* program_for(const Example& example) {
    const Schema* schema = Schema::get(example.framework, example.version);
    if (!schema) {
      return nullptr;
    }
    const auto [it, fresh] = programs_.try_emplace(schema);
    if (fresh) {
      it->second = make_program(alone_, *schema);
      slice(it->second);
    }
    return &it->second;
  }

  RuleSet alone_;
  Source source_{"<example>", ""};
  std::map<const Schema*, Program> programs_;
  std::vector<Config> configurations_;  // of the examples
  std::set<std::pair<Text, std::size_t>> offered_;
};

bool is_for(const Example& example, const Case& check) {
  return example.framework == check.framework &&
         (example.case_id.empty() || example.case_id == check.id);
}

// A case whose requirement never holds fails wherever `when` is true.
bool passes_where_concerned(Bench& bench, const Copies& copies) {
  static Pool pool;
  static const Expr never = parse_expr("false", {}, {}, pool).expr;
  std::vector<Case> instead;
  for (const std::size_t copy : copies) {
    instead.push_back(bench.rule().cases[copy]);
    instead.back().require = never;
  }
  const auto got = bench.outcomes(copies, instead);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Example& example = bench.examples()[i];
    if (example.expect == "pass" && is_for(example, instead.front()) && got[i] == "fail") {
      return true;
    }
  }
  return false;
}

// The example as a fragment with one thing less, for each thing.
std::vector<Example> fragments(const Example& example) {
  std::vector<Example> out;
  const auto without = [&](auto list, std::size_t begin, std::size_t end) {
    out.push_back(example);
    out.back().closed = false;
    auto& changed = out.back().*list;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(begin),
                  changed.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (std::size_t begin = 0, end = 0; begin < example.argv.size(); begin = end) {
    for (end = begin + 1; end < example.argv.size() && !example.argv[end].starts_with("--");) {
      ++end;
    }
    without(&Example::argv, begin, end);
  }
  for (std::size_t i = 0; i < example.values.size(); ++i) {
    without(&Example::values, i, i + 1);
  }
  for (std::size_t i = 0; i < example.env.size(); ++i) {
    without(&Example::env, i, i + 1);
  }
  return out;
}

bool can_be_unknown(Bench& bench, const Case& check) {
  return std::any_of(bench.examples().begin(), bench.examples().end(), [&](const Example& example) {
    if (example.expect != "fail" || !is_for(example, check)) {
      return false;
    }
    const auto all = fragments(example);
    return std::any_of(all.begin(), all.end(), [&](const Example& fragment) {
      return bench.outcome(fragment) == "unknown";
    });
  });
}

bool has_fix(const Rule& rule) {
  return std::any_of(rule.cases.begin(), rule.cases.end(),
                     [](const Case& check) { return !check.fixes.empty(); });
}

// A rule has a fix, or says why it has none; each fix is offered in some failing example.
void add_fix_demands(Bench& bench, std::vector<ExampleResult>& out) {
  const Rule& rule = bench.rule();
  if (!has_fix(rule)) {
    out.push_back(
        {fmt::format("{}/fixes", rule.id), !rule.no_fix.empty(),
         rule.no_fix.empty() ? "neither `fixes` nor `no_fix`: it must have one of them" : "",
         false});
    return;
  }
  for (const Copies& copies : bench.cases()) {
    const Case& first = rule.cases[copies.front()];
    for (std::size_t row = 0; row < first.fixes.size(); ++row) {
      const bool offered = bench.was_offered(first.id, row);
      out.push_back(
          {fmt::format("{}/{}/offered {}", rule.id, first.id, row + 1), offered,
           offered ? ""
                   : fmt::format("`{}` is offered in no failing example", first.fixes[row].title),
           false});
    }
  }
}

}  // namespace

const Program& Programs::of(const Schema& schema) {
  const auto [it, fresh] = programs_.try_emplace(&schema);
  if (fresh) {
    it->second = make_program(rules_, schema);
  }
  return it->second;
}

std::vector<ExampleResult> run_examples(const RuleSet& rules, const Rule& rule, Programs* all) {
  std::vector<ExampleResult> out;
  Bench bench(rules, rule);
  for (std::size_t i = 0; i < bench.examples().size(); ++i) {
    const Example& example = bench.examples()[i];
    ExampleResult result{fmt::format("{}/{}", rule.id, example.id), false, "", false};
    const std::string got = bench.outcome(i);
    result.passed = got == example.expect;
    if (!result.passed) {
      result.problem = fmt::format("expected {}, got {} ({})", example.expect, got, rule.name);
    }
    out.push_back(std::move(result));
    if (example.expect == "fail" && out.back().passed && has_fix(rule)) {
      const std::string fault = bench.fault_of_fixes(i, all);
      out.push_back({fmt::format("{}/{}/fix", rule.id, example.id), fault.empty(), fault, false});
    }
  }
  add_fix_demands(bench, out);
  for (const Copies& copies : bench.cases()) {
    const Case& check = bench.rule().cases[copies.front()];
    const auto has = [&](Text expect) {
      return std::any_of(bench.examples().begin(), bench.examples().end(),
                         [&](const Example& e) { return e.expect == expect && is_for(e, check); });
    };
    const auto demand = [&](Text expect, std::string_view what) {
      out.push_back({fmt::format("{}/{}/{}", rule.id, check.id, expect), false,
                     fmt::format("the case has no example that must {} ({})", what, rule.name),
                     true});
    };
    if (!has("fail")) {
      demand("fail", "fail");
    }
    if (!passes_where_concerned(bench, copies)) {
      demand("pass", "pass although `when` is true");
    }
    if (!has("unknown") && can_be_unknown(bench, check)) {
      demand("unknown", "stay unknown");
    }
  }
  return out;
}

std::vector<ExampleResult> run_mutants(const RuleSet& rules, const Rule& rule) {
  std::vector<ExampleResult> out;
  Bench bench(rules, rule);
  for (const Copies& copies : bench.cases()) {
    for (const bool in_when : {true, false}) {
      const auto condition = [&](Case& check) -> Expr& {
        return in_when ? check.when : check.require;
      };
      std::vector<std::vector<Mutant>> changes;  // of each copy, the same in the same order
      std::vector<Case> instead;
      for (const std::size_t copy : copies) {
        instead.push_back(bench.rule().cases[copy]);
        changes.push_back(mutants(condition(instead.back())));
      }
      for (std::size_t m = 0; m < changes.front().size(); ++m) {
        for (std::size_t i = 0; i < copies.size(); ++i) {
          condition(instead[i]) = changes[i][m].view();
        }
        const auto got = bench.outcomes(copies, instead);
        bool noticed = false;
        for (std::size_t i = 0; i < got.size(); ++i) {
          noticed = noticed || got[i] != bench.examples()[i].expect;
        }
        out.push_back({fmt::format("{}/{}/{}, {}", rule.id, instead.front().id,
                                   in_when ? "when" : "require", changes.front()[m].what),
                       noticed, noticed ? "" : "no example notices", false});
      }
    }
  }
  return out;
}

}  // namespace shardlint::rules
