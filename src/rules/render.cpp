#include "rules/render.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/expr_builtins.h"

namespace shardlint::rules {
namespace {

struct Field {
  std::string_view name, what;  // what: value | key | origin, or empty for an expression
};

Field field_of(std::string_view inside) {
  for (const std::string_view what : {"value", "key", "origin"}) {
    if (inside.size() > what.size() + 1 && inside.ends_with(what) &&
        inside[inside.size() - what.size() - 1] == '.') {
      return {inside.substr(0, inside.size() - what.size() - 1), what};
    }
  }
  return {inside, ""};
}

std::vector<std::string_view> names_of(const std::vector<Let>* lets) {
  std::vector<std::string_view> names;
  for (const Let& let : *lets) {
    names.push_back(let.name);
  }
  return names;
}

std::string origin_text(std::string_view key, const State& state) {
  const Entry* entry = state.config().find(key);
  if (!entry) {
    return is_machine_fact(key) ? "" : " (the default)";
  }
  const Step& last = entry->chain.back();
  switch (last.origin) {
    case Origin::rewritten:
    case Origin::computed:
      return fmt::format(" ({})", last.by);
    case Origin::environment:
      return " (from the environment)";
    default:
      return "";
  }
}

std::string one(const Field& field, State& state) {
  const std::string_view key = state.target(field.name);
  if (field.what == "key") {
    return spelled(key, state);
  }
  if (field.what == "origin") {
    return origin_text(key, state);
  }
  Pool pool;
  static const std::vector<Let> none;
  const std::vector<Let>* lets = state.lets() ? state.lets() : &none;
  const auto names = names_of(lets);
  const Parsed parsed = parse_expr(field.name, names, {}, pool);
  if (!parsed.errors.empty()) {
    return fmt::format("{{{}}}", field.name);
  }
  const Value value = evaluate(parsed.expr, state);
  if (const Unknown* u = value.if_unknown()) {
    return fmt::format("unknown ({})", reason_name(u->reason));
  }
  return value.text();
}

// Calls `plain` for text between fields and `field` for what is inside braces; {{ and }} are
// braces.
template <typename Plain, typename Inside>
bool walk(std::string_view text, Plain plain, Inside field) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t brace = text.find_first_of("{}", at);
    plain(text.substr(at, brace == std::string_view::npos ? brace : brace - at));
    if (brace == std::string_view::npos) {
      return true;
    }
    if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
      plain(text.substr(brace, 1));
      at = brace + 2;
      continue;
    }
    const std::size_t close = text.find('}', brace);
    if (text[brace] == '}' || close == std::string_view::npos) {
      return false;
    }
    field(text.substr(brace + 1, close - brace - 1));
    at = close + 1;
  }
  return true;
}

void add_flow(Diagnostic& d, std::string_view key, const State& state) {
  const Entry* entry = state.config().find(key);
  if (!entry || entry->chain.size() < 2) {
    return;
  }
  for (const Step& step : entry->chain) {
    Note note;
    note.where = locate(step.value_span ? step.value_span : step.key_span);
    const std::string value = step.value.text();
    switch (step.origin) {
      case Origin::rewritten:
        note.text = fmt::format("becomes `{}` by {}", value, step.by);
        break;
      case Origin::computed:
        note.text = fmt::format("worked out as `{}` by {}", value, step.by);
        break;
      case Origin::environment:
        note.text = fmt::format("`{}` from the environment", value);
        break;
      case Origin::override_value:
        note.text = fmt::format("overridden with `{}`", value);
        break;
      default:
        note.text = fmt::format("set to `{}`", value);
        break;
    }
    if (!step.by.empty() && step.origin != Origin::rewritten && step.origin != Origin::computed) {
      note.text += fmt::format(" ({})", step.by);
    }
    d.flow.push_back(std::move(note));
  }
}

// The first of the label's names that the user wrote, else the first.
std::string_view pick(const Label& label, const State& state, bool& written) {
  written = false;
  for (const Text name : label.at) {
    const std::string_view key = state.target(name);
    if (state.is_written(key) || state.config().sections.count(std::string(key))) {
      written = true;
      return key;
    }
  }
  return label.at.empty() ? std::string_view() : state.target(label.at.front());
}

bool points_at(const Diagnostic& d, const Location& where) {
  return d.where == where || std::any_of(d.related.begin(), d.related.end(),
                                         [&](const Note& note) { return note.where == where; });
}

// What a person wrote of the statement's other keys, where no label of the rule shows it.
void add_other_keys(Diagnostic& d, const Label& primary, State& state) {
  constexpr std::size_t enough = 4;
  for (const Text name : primary.at) {
    const std::string_view key = state.target(name);
    const Location where = locate(state.config().place(key));
    if (d.related.size() < enough && state.is_written(key) && !points_at(d, where)) {
      d.related.push_back(
          {where, fmt::format("`{}` is `{}`", spelled(key, state), state.key(key).text())});
    }
  }
}

void add_key(Diagnostic& d, std::string_view key, State& state) {
  d.key.path = std::string(key);
  d.key.canonical = std::string(state.schema().canonical(key));
  d.key.value = state.key(key).text();
  const Entry* entry = state.config().find(key);
  d.key.origin = entry                  ? std::string(origin_name(entry->chain.back().origin))
                 : is_machine_fact(key) ? "unknown"
                                        : "default";
}

std::vector<FixPlan> make_plans(const Case& check, State& state) {
  std::vector<FixPlan> plans;
  for (const FixRow& row : check.fixes) {
    FixPlan plan{fill(row.title, state),
                 row.otherwise,
                 {},
                 static_cast<std::size_t>(&row - check.fixes.data())};
    if (!row.safe.empty()) {
      const Value safe = evaluate(row.safe, state);
      plan.safety = !safe.is_unknown() && truthy(safe) ? Safety::safe : row.otherwise;
    }
    bool usable = true;
    for (const FixEdit& edit : row.edits) {
      const std::string_view key = state.target(edit.target);
      Change change{std::string(key), edit.value.empty() ? Value() : evaluate(edit.value, state),
                    edit.value.empty()};
      usable = usable && !change.value.is_unknown() &&
               (change.remove || state.schema().find(key) || key.starts_with("env.") ||
                state.config().find(key) || reads(check, key));
      // So it is without being written. A value of a composed tree may come from a key that the
      // same fix changes.
      const bool follows = check.framework == "verl" && row.edits.size() > 1;
      if (!state.is_written(key) &&
          (change.remove || (!follows && state.key(key).text() == change.value.text()))) {
        continue;
      }
      plan.changes.push_back(std::move(change));
    }
    if (usable && !plan.changes.empty()) {
      plans.push_back(std::move(plan));
    }
  }
  return plans;
}

}  // namespace

UnknownInput unknown_input(std::string_view key, State& state) {
  UnknownInput input;
  input.key = spelled(key, state);
  const Value value = state.key(key);
  const Unknown* u = value.if_unknown();
  if (!u) {
    return input;
  }
  input.reason = std::string(reason_name(u->reason));
  input.where = locate(u->where);
  switch (u->reason) {
    case Reason::absent: {
      const Key* found = state.schema().find(key);
      const Value fallback = found ? state.schema().default_of(*found) : Value();
      input.detail = fmt::format("`{}` is not set here; its default is `{}`", input.key,
                                 fallback.is_unknown() ? "not known" : fallback.text());
      break;
    }
    case Reason::environment:
      input.detail = key.starts_with("env.")
                         ? fmt::format("say it with --env {}=VALUE", key.substr(4))
                         : fmt::format("{} depends on the environment", u->detail);
      break;
    case Reason::machine:
      input.detail = key == "world_size"         ? "say it with --world-size N"
                     : key.starts_with("device") ? "say it with --gpu NAME"
                                                 : fmt::format("{} is not known", u->detail);
      break;
    default:
      input.detail = u->detail;
  }
  return input;
}

std::string spelled(std::string_view key, const State& state) {
  if (key.starts_with("env.")) {
    return std::string(key.substr(4));
  }
  const std::string_view flag = state.schema().flag_of(key);
  return std::string(flag.empty() ? key : flag);
}

std::string fill(std::string_view text, State& state) {
  std::string out;
  walk(
      text, [&](std::string_view plain) { out += plain; },
      [&](std::string_view inside) { out += one(field_of(inside), state); });
  return out;
}

std::string template_fault(std::string_view text, const std::vector<Let>& lets) {
  std::string fault;
  const auto names = names_of(&lets);
  const bool closed = walk(
      text, [](std::string_view) {},
      [&](std::string_view inside) {
        Pool pool;
        const Parsed parsed = parse_expr(field_of(inside).name, names, {}, pool);
        if (!parsed.errors.empty() && fault.empty()) {
          fault = fmt::format("{{{}}}: {}", inside, parsed.errors.front().message);
        }
      });
  return closed ? fault : "a brace is not closed";
}

void add_assumptions(Diagnostic& d, const std::vector<std::string_view>& keys, const State& state) {
  constexpr std::size_t enough = 3;
  std::size_t told = 0;
  for (const std::string_view key : keys) {
    const Entry* entry = state.config().find(key);
    const Step* step = entry ? entry->written() : nullptr;
    if (step && step->by.find("the environment may") != std::string::npos && told++ < enough) {
      d.related.push_back(
          {locate(step->value_span),
           fmt::format("assumes the default of `{}`: the environment may set another",
                       spelled(key, state))});
    }
  }
}

Finding make_finding(const Rule& rule, const Case& check, State& state, bool undecided,
                     const std::vector<std::string_view>& unknowns) {
  Finding finding;
  Diagnostic& d = finding.diagnostic;
  d.code = std::string(rule.id);
  d.name = std::string(rule.name);
  d.case_id = std::string(check.id);
  d.verdict = undecided ? Verdict::unknown : Verdict::violation;
  d.severity = undecided ? std::min(check.severity, Severity::info) : check.severity;
  d.framework = std::string(state.schema().framework());
  d.framework_version = std::string(state.schema().version());
  d.instance = state.config().instance;
  if (!check.scope.empty()) {
    d.instance += (d.instance.empty() ? "" : ", ") + std::string(check.scope);
  }
  d.message = fill(check.message.empty() ? rule.message : check.message, state);
  d.help = fill(check.help.empty() ? rule.help : check.help, state);
  bool written = false;
  const std::string_view key = pick(check.primary, state, written);
  d.where = locate(state.config().place(key));
  add_flow(d, key, state);
  add_key(d, key, state);
  for (const Label& label : rule.related) {
    const std::string_view at = pick(label, state, written);
    if (written && at != key) {
      d.related.push_back({locate(state.config().place(at)), fill(label.text, state)});
    }
  }
  add_other_keys(d, check.primary, state);
  for (const std::string_view unknown_key : unknowns) {
    d.unknowns.push_back(unknown_input(unknown_key, state));
  }
  for (const EvidenceRow& row : check.evidence) {
    d.evidence.push_back({std::string(row.repo), std::string(row.commit), std::string(row.path),
                          std::string(row.lines), std::string(row.kind)});
  }
  finding.plans = make_plans(check, state);
  return finding;
}

}  // namespace shardlint::rules
