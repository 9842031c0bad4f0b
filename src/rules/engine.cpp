#include "rules/engine.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/version.h"
#include "rules/expr_builtins.h"
#include "rules/render.h"

namespace shardlint::rules {
namespace {

constexpr std::size_t combination_limit = 64;

void collect(const Expr& expr, const Schema& schema, std::set<std::string_view>& keys) {
  for (const std::string_view key : keys_of(expr)) {
    const auto spellings = schema.spellings(key);
    keys.insert(spellings.begin(), spellings.end());
    if (spellings.empty()) {
      keys.insert(key);
    }
  }
}

ProgramStep make_step(const Rewrite& rewrite, const Schema& schema) {
  std::set<std::string_view> keys;
  collect(rewrite.when, schema, keys);
  for (const Let& let : rewrite.lets) {
    collect(let.value, schema, keys);
  }
  for (const FixEdit& set : rewrite.sets) {
    collect(set.value, schema, keys);
    keys.insert(set.target);
  }
  return {&rewrite, nullptr, nullptr, {keys.begin(), keys.end()}};
}

ProgramStep make_step(const Rule& rule, const Case& check, const Schema& schema) {
  std::set<std::string_view> keys;
  collect(check.when, schema, keys);
  collect(check.require, schema, keys);
  for (const Let& let : check.lets) {
    collect(let.value, schema, keys);
  }
  return {nullptr, &rule, &check, {keys.begin(), keys.end()}};
}

bool applies(Text framework, Text versions, const Schema& schema) {
  if (framework != schema.framework()) {
    return false;
  }
  const auto range = VersionRange::parse(versions);
  const auto version = Version::parse(schema.version());
  return !range || !version || range->contains(*version);
}

// A case that names no versions was read in the newest one. Where an older version lacks a key that
// it reads, the statement was not there either.
bool knows_keys(const ProgramStep& step, const Schema& schema, const Schema& newest) {
  return &schema == &newest || !step.check->versions.empty() ||
         std::all_of(step.keys.begin(), step.keys.end(),
                     [&](std::string_view key) { return schema.find(key) || !newest.find(key); });
}

// The answer to "does the case hold": true, false, or an unknown. Undefined counts as true: the
// statement does not apply.
Value holds_once(const Case& check, State& state, bool* concerned = nullptr) {
  const Value when = check.when.empty() ? Value(true) : evaluate(check.when, state);
  if (is_undefined(when) || (!when.is_unknown() && !truthy(when))) {
    return true;
  }
  if (concerned) {
    *concerned = !when.is_unknown();
  }
  const Value require = evaluate(check.require, state);
  if (is_undefined(require) || (!require.is_unknown() && truthy(require))) {
    return true;
  }
  return when.is_unknown() ? when : require.is_unknown() ? require : Value(false);
}

struct Answer {
  Value holds;
  std::vector<std::string_view> unknowns;  // keys read whose values are unknown, once each
  bool concerned = true;                   // `when` is known to be true
};

// Whether the statement would still apply if one of the unknown values were null, which many are
// where nobody set them: `layers % stages` says nothing of a model without layers.
bool applies_to_null(const Case& check, State& state,
                     const std::vector<std::string_view>& unknowns) {
  return std::all_of(unknowns.begin(), unknowns.end(), [&](std::string_view key) {
    state.begin(&check.lets);
    const Value value = state.key(key);
    if (value.if_unknown() && value.if_unknown()->not_null) {
      return true;
    }
    state.trial[key] = Value();
    state.begin(&check.lets);
    const bool applies = !is_undefined(evaluate(check.require, state));
    state.trial.clear();
    return applies;
  });
}

// Kleene logic loses `a or not a`. Where every unknown input has a small finite domain, all
// combinations are tried and the answer is exact.
Answer holds(const Case& check, State& state) {
  state.begin(&check.lets);
  Answer answer;
  answer.holds = holds_once(check, state, &answer.concerned);
  if (!answer.holds.is_unknown()) {
    return answer;
  }
  std::size_t combinations = 1;
  std::vector<std::pair<std::string_view, List>> domains;
  const std::vector<std::string_view> reads = state.reads();
  for (const std::string_view key : reads) {
    if (std::find(answer.unknowns.begin(), answer.unknowns.end(), key) != answer.unknowns.end()) {
      continue;
    }
    state.begin(&check.lets);
    const Value value = state.key(key);
    if (const Unknown* u = value.if_unknown()) {
      answer.unknowns.push_back(key);
      const bool finite = !u->domain.empty() && u->domain.size() <= combination_limit;
      combinations = finite && combinations <= combination_limit ? combinations * u->domain.size()
                                                                 : combination_limit + 1;
      domains.emplace_back(key, u->domain);
    }
  }
  answer.concerned = answer.concerned && applies_to_null(check, state, answer.unknowns);
  if (combinations > combination_limit || domains.empty()) {
    return answer;
  }
  Value common;
  for (std::size_t i = 0; i < combinations; ++i) {
    std::size_t rest = i;
    for (const auto& [key, domain] : domains) {
      state.trial[key] = domain[rest % domain.size()];
      rest /= domain.size();
    }
    state.begin(&check.lets);
    const Value once = holds_once(check, state);
    if (once.is_unknown() || (i > 0 && !(once == common))) {
      state.trial.clear();
      return answer;
    }
    common = once;
  }
  state.trial.clear();
  return {common, {}, true};
}

// old or new, when it is not known which.
Value blend(const Value& condition, const Value& before, const Value& after) {
  Unknown out = *condition.if_unknown();
  out.reason = Reason::branch;
  out.domain.clear();
  out.not_null = !before.is_null() && !after.is_null();
  for (const Value* value : {&before, &after}) {
    if (const Unknown* u = value->if_unknown()) {
      if (u->domain.empty()) {
        out.domain.clear();
        return out;
      }
      out.domain.insert(out.domain.end(), u->domain.begin(), u->domain.end());
      out.not_null = out.not_null && u->not_null;
    } else {
      out.domain.push_back(*value);
    }
  }
  return out;
}

void apply(const Rewrite& rewrite, State& state) {
  state.begin(&rewrite.lets);
  const Value when = rewrite.when.empty() ? Value(true) : evaluate(rewrite.when, state);
  if (is_undefined(when) || (!when.is_unknown() && !truthy(when))) {
    return;
  }
  std::vector<std::pair<std::string_view, Value>> changes;
  for (const FixEdit& set : rewrite.sets) {
    const Value before = state.key(set.target);
    Value after = evaluate(set.value, state);
    if (is_undefined(after)) {
      continue;  // upstream would have stopped here, or the helper value is not there
    }
    if (when.is_unknown()) {
      if (before.is_unknown() && before.if_unknown()->reason == Reason::absent) {
        continue;  // unknown before and after
      }
      after = before == after ? before : blend(when, before, after);
    }
    const bool same = before == after && state.config().find(set.target);
    // From one unknown to another matters only where the possible values are told.
    const bool blurred = before.is_unknown() && after.is_unknown() &&
                         before.if_unknown()->domain.empty() && after.if_unknown()->domain.empty();
    if (!same && !blurred) {
      changes.emplace_back(set.target, after);
    }
  }
  for (auto& [key, value] : changes) {
    state.set(key, {std::move(value),
                    rewrite.derived ? Origin::computed : Origin::rewritten,
                    {},
                    {},
                    std::string(rewrite.id)});
  }
}

// A mapping that was given key by key.
bool is_filled(std::string_view key, const State& state) {
  if (!state.config().has_prefix(key)) {
    return false;
  }
  const Key* found = state.schema().find(key);
  return found && found->type.kind == Kind::map;
}

// In a fragment, a step matters when the fragment (or an earlier step) has set a key it reads.
bool relevant(const ProgramStep& step, const State& state) {
  if (step.check && state.config().partial) {
    return std::any_of(step.keys.begin(), step.keys.end(), [&](std::string_view key) {
      return (state.is_written(key) || is_filled(key, state)) && !is_machine_fact(key);
    });
  }
  return state.world() == World::closed ||
         std::any_of(step.keys.begin(), step.keys.end(), [&](std::string_view key) {
           return (state.config().find(key) || is_filled(key, state)) && !is_machine_fact(key);
         });
}

// An unknown that the user can do something about: it comes from what is written. A value of the
// wrong type has been reported where it was read.
bool worth_telling(const std::vector<std::string_view>& unknowns, State& state) {
  const auto refused = [&](std::string_view key) {
    const Entry* entry = state.config().find(key);
    const Unknown* unknown = entry ? entry->value().if_unknown() : nullptr;
    return unknown && unknown->reason == Reason::bad_type;
  };
  return !unknowns.empty() &&
         std::any_of(unknowns.begin(), unknowns.end(),
                     [&](std::string_view key) { return state.is_written(key); }) &&
         std::none_of(unknowns.begin(), unknowns.end(), [&](std::string_view key) {
           return refused(key) || (is_machine_fact(key) && !state.is_written(key));
         });
}

// Adds the time of one step to `times`; nothing when nobody asked.
class StepClock {
 public:
  using Clock = std::chrono::steady_clock;
  StepClock(StepTimes* times, std::size_t step) : times_(times), step_(step) {
    if (times_) {
      times_->nanoseconds.resize(std::max(times_->nanoseconds.size(), step + 1));
      times_->calls.resize(times_->nanoseconds.size());
      begin_ = Clock::now();
    }
  }
  ~StepClock() {
    if (times_) {
      times_->nanoseconds[step_] += static_cast<std::uint64_t>((Clock::now() - begin_).count());
      ++times_->calls[step_];
    }
  }
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

 private:
  StepTimes* times_;
  std::size_t step_;
  Clock::time_point begin_;
};

}  // namespace

Program make_program(const RuleSet& rules, const Schema& schema) {
  Program program{&schema, {}};
  const Schema& newest = *Schema::get(schema.framework());
  // At one place checks come before rewrites: a statement is judged on the values before it.
  for (const Rule& rule : rules.rules) {
    for (const Case& check : rule.cases) {
      if (applies(check.framework, check.versions, schema)) {
        ProgramStep step = make_step(rule, check, schema);
        if (knows_keys(step, schema, newest)) {
          program.steps.push_back(std::move(step));
        }
      }
    }
  }
  for (const Rewrite& rewrite : rules.rewrites) {
    if (applies(rewrite.framework, rewrite.versions, schema)) {
      program.steps.push_back(make_step(rewrite, schema));
    }
  }
  const auto position = [](const ProgramStep& step) -> const Position& {
    return step.rewrite ? step.rewrite->position : step.check->position;
  };
  std::stable_sort(program.steps.begin(), program.steps.end(),
                   [&](const ProgramStep& a, const ProgramStep& b) {
                     const Position &x = position(a), &y = position(b);
                     return x.stage != y.stage ? x.stage < y.stage : x.place < y.place;
                   });
  return program;
}

namespace {

// Findings that are not worth telling are not even made, where nobody asks for them.
enum class Tell { everything, worth_it };

Run run(const Program& program, Config config, World world, Tell tell, StepTimes* times) {
  Run out{{}, std::move(config)};
  State state(out.config, *program.schema, world);
  for (const ProgramStep& step : program.steps) {
    const StepClock clock(times, static_cast<std::size_t>(&step - program.steps.data()));
    if (!relevant(step, state)) {
      continue;
    }
    if (step.rewrite) {
      apply(*step.rewrite, state);
      continue;
    }
    const Answer answer = holds(*step.check, state);
    if (!answer.holds.is_unknown() && truthy(answer.holds)) {
      continue;
    }
    state.begin(&step.check->lets);
    const Text written = step.check->written;
    if (!written.empty() && !state.is_written(state.target(written))) {
      continue;
    }
    const bool undecided = answer.holds.is_unknown();
    const bool worth = !undecided || (answer.concerned && worth_telling(answer.unknowns, state));
    if (!worth && tell == Tell::worth_it) {
      continue;
    }
    Finding finding = make_finding(*step.rule, *step.check, state, undecided, answer.unknowns);
    finding.rule = step.rule;
    finding.check = step.check;
    finding.worth_telling = worth;
    finding.on_defaults = std::any_of(
        step.keys.begin(), step.keys.end(),
        [&](std::string_view key) { return state.schema().find(key) && !state.is_written(key); });
    add_assumptions(finding.diagnostic, step.keys, state);
    out.findings.push_back(std::move(finding));
  }
  return out;
}

}  // namespace

Run run(const Program& program, Config config, World world, StepTimes* times) {
  return run(program, std::move(config), world, Tell::everything, times);
}

Run check(const Program& program, const Config& config, StepTimes* times) {
  if (config.closed) {
    return run(program, config, World::closed, Tell::worth_it, times);
  }
  Run open = run(program, config, World::open, times);
  Run assumed = run(program, config, World::assumed, Tell::worth_it, times);
  std::vector<Finding> kept;
  for (Finding& finding : open.findings) {
    if (finding.diagnostic.verdict == Verdict::violation) {
      kept.push_back(std::move(finding));
      continue;
    }
    const auto same =
        std::find_if(assumed.findings.begin(), assumed.findings.end(),
                     [&](const Finding& other) { return other.check == finding.check; });
    if (same == assumed.findings.end()) {
      continue;
    }
    Finding told = *same;
    if (told.diagnostic.verdict == Verdict::violation) {
      told.diagnostic.verdict = Verdict::unknown;
      told.diagnostic.severity = std::min(told.diagnostic.severity, Severity::warning);
    }
    told.diagnostic.unknowns = finding.diagnostic.unknowns;
    kept.push_back(std::move(told));
  }
  open.findings = std::move(kept);
  return open;
}

}  // namespace shardlint::rules
