#include "lint/judge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "rules/load.h"
#include "schema/check.h"
#include "schema/schema.h"

namespace shardlint {
namespace {

bool matches(const std::vector<std::string>& patterns, std::string_view code,
             std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return pattern == "ALL" || pattern == name || code.starts_with(pattern);
  });
}

std::vector<Fix> make_fixes(const std::vector<rules::FixPlan>& plans, const Unit& unit) {
  std::vector<Fix> fixes;
  for (const rules::FixPlan& plan : plans) {
    if (Fix fix{plan.title, plan.safety,
                unit.edit ? unit.edit(unit.config, plan.changes) : std::vector<Edit>()};
        !fix.edits.empty()) {
      fixes.push_back(std::move(fix));
    }
  }
  return fixes;
}

// The places where a recipe that comes with the framework is called: its values stand there.
std::set<Location> shipped_calls(const Config& config) {
  std::set<Location> calls;
  for (const std::string_view key : config.keys()) {
    for (const Step& step : config.find(key)->chain) {
      if (step.value_span && step.by.ends_with(shipped_with_shardlint)) {
        calls.insert(locate(step.value_span));
      }
    }
  }
  return calls;
}

bool is_advice(const Diagnostic& finding) {
  return finding.severity != Severity::error;
}

// Advice about values that the user neither wrote nor touches is the recipe's authors' business; an
// error is everybody's.
void drop_advice_to_others(std::vector<Diagnostic>& findings, const Config& config) {
  if (std::none_of(findings.begin(), findings.end(), is_advice)) {
    return;  // the calls need not be looked for
  }
  const std::set<Location> calls = shipped_calls(config);
  const auto theirs = [&](const Note& note) { return calls.contains(note.where); };
  std::erase_if(findings, [&](const Diagnostic& finding) {
    return is_advice(finding) && calls.contains(finding.where) &&
           std::all_of(finding.related.begin(), finding.related.end(), theirs);
  });
}

}  // namespace

RuleBook::RuleBook(const Options& options)
    : select_(options.select), ignore_(options.ignore), profile_(options.profile) {
  for (const std::string& folder : options.rule_folders) {
    if (!RealDisk().is_directory(folder)) {
      throw Error(fmt::format("--rules: {} is not a folder", folder));
    }
    rules::Loaded loaded = rules::load_rules(RealDisk(), folder, pool_, *rules_);
    if (!loaded.faults.empty()) {
      throw Error("the rules cannot be used:\n" + rules::fault_text(loaded.faults));
    }
    own_ = std::move(loaded.rules);
    rules_ = &own_;
  }
}

const rules::Program* RuleBook::program(std::string_view framework,
                                        std::string_view version) const {
  const Schema* schema = Schema::get(framework, version);
  if (!schema) {
    return nullptr;
  }
  const std::string name = fmt::format("{}=={}", framework, schema->version());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<rules::Program>& program = programs_[name];
  if (!program) {
    const PhaseClock clock(profile_, "phase", "programs put in order");
    program = std::make_unique<rules::Program>(rules::make_program(*rules_, *schema));
  }
  return program.get();
}

bool RuleBook::selected(std::string_view code, std::string_view name) const {
  return (select_.empty() || matches(select_, code, name)) && !matches(ignore_, code, name);
}

void RuleBook::keep_selected(std::vector<Diagnostic>& diagnostics) const {
  std::erase_if(diagnostics, [&](const Diagnostic& d) { return !selected(d.code, d.name); });
}

std::vector<Diagnostic> judge(const Unit& unit, const RuleBook& book, Config* after) {
  std::vector<Diagnostic> out;
  const rules::Program* program = book.program(unit.config.framework, unit.version);
  if (!program) {
    return out;
  }
  {
    const PhaseClock clock(book.profile(), "phase", "keys held against the catalogue");
    out = check_keys(unit.config, *program->schema);
  }
  rules::StepTimes times;
  rules::Run run;
  {
    const PhaseClock clock(book.profile(), "phase", "rules and rewrites");
    run = rules::check(*program, unit.config, book.profile().wanted() ? &times : nullptr);
  }
  if (book.profile().wanted()) {
    book.profile().add(*program, times);
  }
  const PhaseClock clock(book.profile(), "phase", "fixes written as edits");
  for (rules::Finding& finding : run.findings) {
    finding.diagnostic.fixes = make_fixes(finding.plans, unit);
    if (unit.passed_on && finding.on_defaults && finding.diagnostic.severity == Severity::error) {
      finding.diagnostic.related.push_back(
          {locate(unit.passed_on), "assumes that the script is started without arguments"});
    }
    out.push_back(std::move(finding.diagnostic));
  }
  for (Diagnostic& finding : out) {
    doubt(finding, unit.doubt);
  }
  drop_advice_to_others(out, unit.config);
  if (after) {
    *after = std::move(run.config);
  }
  return out;
}

}  // namespace shardlint
