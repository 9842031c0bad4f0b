#include "rules/examples.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/config.h"
#include "frontend/overrides/argparse.h"
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

Config configuration(const Example& example, const Source& source) {
  Config config;
  config.framework = std::string(example.framework);
  config.closed = example.closed;
  if (!example.argv.empty()) {
    std::vector<Word> words;
    for (const Text word : example.argv) {
      Word out = literal_word(std::string(word));
      if (word.find("${") != Text::npos) {
        out.pieces = {{std::string(1, Word::unknown_mark),
                       {&source, 0, 0},
                       false,
                       false,
                       true,
                       false,
                       std::make_shared<Unknown>(
                           Unknown{Reason::environment, std::string(word), {}, false, {}})}};
      }
      for (Piece& piece : out.pieces) {
        piece.span = {&source, 0, 0};
      }
      words.push_back(std::move(out));
    }
    const ArgumentList list = read_argument_list(words, {std::string(example.version), ""});
    for (const Fact& fact : list.facts.facts) {
      config.set(fact.key, {fact.value, fact.origin, {&source, 0, 0}, {}, ""});
    }
    config.closed = example.closed && list.facts.closed;
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

std::string outcome(const RuleSet& rules, const Rule& rule, const Example& example) {
  const Schema* schema = Schema::get(example.framework, example.version);
  if (!schema) {
    return "no such framework";
  }
  RuleSet alone{rules.stages, rules.rewrites, {rule}};
  const Program program = make_program(alone, *schema);
  const bool has_case = std::any_of(program.steps.begin(), program.steps.end(), [&](const auto& s) {
    return s.check && (example.case_id.empty() || s.check->id == example.case_id);
  });
  if (!has_case) {
    return "not-applicable";
  }
  const Source source("<example>", "");
  const Config config = configuration(example, source);
  const auto verdict = [&](World world) {
    std::string worst = "pass";
    for (const Finding& finding : run(program, config, world).findings) {
      if (!example.case_id.empty() && finding.check->id != example.case_id) {
        continue;
      }
      const bool violated = finding.diagnostic.verdict == Verdict::violation;
      worst = violated || worst == "fail" ? "fail" : "unknown";
    }
    return worst;
  };
  return verdict(config.closed ? World::closed : World::open);
}

}  // namespace

std::vector<ExampleResult> run_examples(const RuleSet& rules, const Rule& rule) {
  std::vector<ExampleResult> out;
  for (const Example& example : rule.examples) {
    ExampleResult result{fmt::format("{}/{}", rule.id, example.id), false, "", false};
    const std::string got = outcome(rules, rule, example);
    result.passed = got == example.expect;
    if (!result.passed) {
      result.problem = fmt::format("expected {}, got {} ({})", example.expect, got, rule.name);
    }
    out.push_back(std::move(result));
  }
  for (const Case& check : rule.cases) {
    for (const Text wanted : {"fail", "pass"}) {
      const bool there =
          std::any_of(rule.examples.begin(), rule.examples.end(), [&](const Example& e) {
            return e.expect == wanted && e.framework == check.framework &&
                   (e.case_id.empty() || e.case_id == check.id);
          });
      if (!there) {
        out.push_back({fmt::format("{}/{}/{}", rule.id, check.id, wanted), false,
                       fmt::format("the case has no example that must {} ({})", wanted, rule.name),
                       true});
      }
    }
  }
  return out;
}

std::vector<ExampleResult> run_mutants(const RuleSet& rules, const Rule& rule) {
  std::vector<ExampleResult> out;
  for (std::size_t i = 0; i < rule.cases.size(); ++i) {
    for (const bool in_when : {true, false}) {
      const Expr& expr = in_when ? rule.cases[i].when : rule.cases[i].require;
      for (const Mutant& mutant : mutants(expr)) {
        Rule changed = rule;
        (in_when ? changed.cases[i].when : changed.cases[i].require) = mutant.view();
        const bool noticed =
            std::any_of(rule.examples.begin(), rule.examples.end(), [&](const Example& example) {
              return outcome(rules, changed, example) != example.expect;
            });
        out.push_back({fmt::format("{}/{}/{}", rule.id, rule.cases[i].id, mutant.what), noticed,
                       noticed ? "" : "no example notices", false});
      }
    }
  }
  return out;
}

}  // namespace shardlint::rules
