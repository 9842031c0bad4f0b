// Statements: lists, branches, loops, functions.

#include <algorithm>
#include <cctype>

#include "frontend/shell/evaluator.h"
#include "frontend/shell/launcher.h"

namespace shardlint::shell {
namespace {

constexpr int max_rounds = 256;  // of one loop

}  // namespace

bool Evaluator::launched_since(std::size_t commands) const {
  return std::any_of(out_.commands.begin() + static_cast<std::ptrdiff_t>(commands),
                     out_.commands.end(), [](const Command& c) { return is_launch(c); });
}

Truth Evaluator::sequence(const std::vector<Statement>& statements) {
  Truth status = Truth::yes;
  for (const Statement& statement : statements) {
    if (flow_ != Flow::none || stopped_) {
      break;
    }
    status = run(statement);
    last_status_ = status;
  }
  return status;
}

Truth Evaluator::run(const Statement& statement) {
  using Kind = Statement::Kind;
  if (!step() || ++depth_ > 150) {
    if (!stopped_) {
      --depth_;
      limit("statements are nested too deeply to be followed",
            span(statement.begin, statement.begin));
    }
    return Truth::unknown;
  }
  const std::optional<Text> outer_input = input_;
  Tokenized redirects;
  for (const std::uint32_t i : statement.redirects) {
    redirects.push_back(script_->tokens.tokens[i]);
  }
  if (!redirects.empty()) {
    if (std::optional<Text> input = input_of(redirects)) {
      input_ = std::move(input);
    }
  }
  Truth status = Truth::unknown;
  switch (statement.kind) {
    case Kind::command:
      status = command(statement);
      break;
    case Kind::sequence:
    case Kind::group:
      status = sequence(statement.children);
      break;
    case Kind::both:
    case Kind::either:
      status = both_or_either(statement);
      break;
    case Kind::pipeline:
      status = pipeline(statement);
      break;
    case Kind::negation:
      status = negated(sequence(statement.children));
      break;
    case Kind::if_clause:
      status = if_clause(statement, 0);
      break;
    case Kind::while_loop:
    case Kind::until_loop:
      status = while_loop(statement);
      break;
    case Kind::for_loop:
      status = for_loop(statement);
      break;
    case Kind::case_clause:
      status = case_clause(statement);
      break;
    case Kind::case_item:
      break;
    case Kind::function: {
      const std::string name(script_->view(script_->tokens.tokens[statement.first]));
      state_.functions[name] = {script_, &statement.children[0]};
      status = Truth::yes;
      break;
    }
    case Kind::subshell:
      status = subshell(statement);
      break;
    case Kind::not_understood:
      report("SHL101", "script-syntax", Severity::warning, Verdict::unknown,
             "this part of the script could not be read", span(statement.begin, statement.end),
             "check it with bash -n");
      sequence(statement.children);
      break;
  }
  if (!redirects.empty()) {
    input_ = outer_input;
  }
  --depth_;
  return status;
}

bool Evaluator::unless_guard(const std::function<void()>& body) {
  const State before = state_;
  const std::size_t commands = out_.commands.size();
  body();
  if (flow_ == Flow::exited && !launched_since(commands)) {
    state_ = before;
    environment_changed_ = true;
    flow_ = Flow::none;
    return false;
  }
  return true;
}

// A script that leaves when [ -z "$NAME" ] holds does not go on without NAME.
void Evaluator::after_guard(const Statement& condition) {
  const std::string_view text = script_->view(condition.begin, condition.end);
  for (std::size_t at = text.find("-z "); at != std::string_view::npos;
       at = text.find("-z ", at + 1)) {
    std::size_t from = text.find_first_not_of(" \"", at + 3);
    if (from == std::string_view::npos || text[from] != '$') {
      continue;
    }
    from += text.substr(from).starts_with("${") ? 2 : 1;
    std::size_t end = from;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
      ++end;
    }
    const std::string name(text.substr(from, end - from));
    const Variable* found = state_.find(name);
    if (!found || found->kind != Variable::Kind::scalar || !found->scalar().plain().empty()) {
      continue;
    }
    Variable given = *found;
    const auto place = condition.begin + static_cast<std::uint32_t>(from);
    Field field;
    field.text = notes_.unknown(Reason::environment, "$" + name,
                                span(place, place + static_cast<std::uint32_t>(name.size())));
    notes_.never_empty();
    given.values = {field};
    set_variable(name, std::move(given));
  }
}

void Evaluator::branch(const Span& condition,
                       const std::vector<std::function<void()>>& alternatives) {
  const State before = state_;
  const Span outer = condition_;
  std::optional<State> after;
  Flow common = Flow::none;
  bool first = true, all_left = true, launched = false;
  const Text printed = capture_ ? capture_->text : Text{};
  std::optional<std::string> output;
  for (const auto& alternative : alternatives) {
    state_ = before;
    environment_changed_ = true;
    flow_ = Flow::none;
    condition_ = condition;
    const std::size_t commands = out_.commands.size();
    alternative();
    launched = launched || launched_since(commands);
    if (capture_) {  // what is printed on either side must be the same to be known
      const std::string text = capture_->text.plain();
      capture_->unknown = capture_->unknown || (output && *output != text) ||
                          (text.size() != printed.size() && !capture_->text.known());
      output = text;
      capture_->text = printed;
    }
    if (flow_ == Flow::none) {
      all_left = false;
      after = after ? merge(*after, state_, condition, notes_) : state_;
    } else {
      common = first || common == flow_ ? flow_ : Flow::exited;
    }
    first = false;
    step(1 + state_.variables.size() / 16);
  }
  if (output && output->size() > printed.size()) {
    capture_->text.append(
        notes_.computed(std::string_view(*output).substr(printed.size()), condition));
  }
  condition_ = outer;
  flow_ = all_left && (launched || common != Flow::exited) ? common : Flow::none;
  state_ = after ? std::move(*after) : before;
  environment_changed_ = true;
}

Truth Evaluator::both_or_either(const Statement& statement) {
  const bool both = statement.kind == Statement::Kind::both;
  const Truth left = run(statement.children[0]);
  last_status_ = left;
  if (flow_ != Flow::none) {
    return left;
  }
  const Statement& right = statement.children[1];
  if (left == Truth::unknown) {
    Truth status = Truth::unknown;
    branch(span(statement.children[0].begin, statement.children[0].end),
           {[] {}, [&] { status = run(right); }});
    return Truth::unknown;
  }
  if ((left == Truth::yes) != both) {
    return left;
  }
  Truth status = left;
  if (!unless_guard([&] { status = run(right); })) {
    after_guard(statement.children[0]);
  }
  return status;
}

Truth Evaluator::pipeline(const Statement& statement) {
  if (statement.children.size() == 1) {
    return run(statement.children[0]);
  }
  const State before = state_;
  Capture* const outer = capture_;
  const std::optional<Text> outer_input = input_;
  Truth status = Truth::unknown;
  for (std::size_t i = 0; i < statement.children.size(); ++i) {
    Capture capture;
    const bool last = i + 1 == statement.children.size();
    const std::size_t commands = out_.commands.size();
    capture_ = last ? outer : &capture;
    status = run(statement.children[i]);
    for (std::size_t k = commands; k < out_.commands.size() && !last && !before.pipefail; ++k) {
      out_.commands[k].piped_to =
          span(statement.children.back().begin, statement.children.back().end);
    }
    state_ = before;
    environment_changed_ = true;
    flow_ = Flow::none;
    if (!last) {
      input_ = capture.unknown ? unknown(Reason::command, statement.children[i].begin,
                                         statement.children[i].end)
                               : capture.text;
    }
  }
  capture_ = outer;
  input_ = outer_input;
  return status;
}

Truth Evaluator::subshell(const Statement& statement) {
  const State before = state_;
  const std::size_t commands = out_.commands.size();
  const Truth status = sequence(statement.children);
  const bool left = flow_ == Flow::exited && !launched_since(commands);
  state_ = before;
  environment_changed_ = true;
  flow_ = Flow::none;
  return left ? Truth::unknown : status;
}

// Children from `from`: condition, body, [condition, body]..., [else body].
Truth Evaluator::if_clause(const Statement& statement, std::size_t from) {
  if (from >= statement.children.size()) {
    return Truth::yes;
  }
  const Statement& first = statement.children[from];
  if (from + 1 == statement.children.size()) {
    return sequence(first.children);
  }
  const Truth holds = sequence(first.children);
  if (flow_ != Flow::none) {
    return Truth::unknown;
  }
  const Statement& body = statement.children[from + 1];
  const auto otherwise = [&] { if_clause(statement, from + 2); };
  switch (holds) {
    case Truth::yes: {
      Truth status = Truth::unknown;
      if (!unless_guard([&] { status = sequence(body.children); })) {
        after_guard(first);
        otherwise();
      }
      return status;
    }
    case Truth::no:
      otherwise();
      return Truth::unknown;
    case Truth::unknown:
      branch(span(first.begin, first.end), {[&] { sequence(body.children); }, otherwise});
      return Truth::unknown;
  }
  return Truth::unknown;
}

Truth Evaluator::case_clause(const Statement& statement) {
  if (statement.first >= script_->tokens.tokens.size()) {
    return Truth::unknown;
  }
  const Token& subject = script_->tokens.tokens[statement.first];
  const Text value = assumed(expand_whole(subject.begin, subject.end));
  const Span where = span(subject.begin, subject.end);
  std::vector<std::function<void()>> possible;
  bool decided = false;
  for (const Statement& item : statement.children) {
    Truth hit = Truth::no;
    for (std::uint32_t i = item.first; i < item.last && hit != Truth::yes; ++i) {
      const Token& token = script_->tokens.tokens[i];
      if (token.kind == Token::Kind::control) {
        continue;
      }
      const Truth one = matches(expand_whole(token.begin, token.end), value);
      hit = one == Truth::no ? hit : one;
    }
    if (hit == Truth::no) {
      continue;
    }
    const std::vector<Statement>& body = item.children[0].children;
    if (hit == Truth::yes && possible.empty()) {
      unless_guard([&] { sequence(body); });
      return Truth::unknown;
    }
    possible.push_back([this, &body] { sequence(body); });
    if (hit == Truth::yes) {
      decided = true;
      break;
    }
  }
  if (possible.empty()) {
    return Truth::yes;
  }
  if (!decided) {
    possible.push_back([] {});
  }
  branch(where, possible);
  return Truth::unknown;
}

// One round. `stop`: leave the loop.
Truth Evaluator::loop_body(const Statement& body, bool& stop) {
  const Truth status = sequence(body.children);
  if (flow_ == Flow::broken || flow_ == Flow::continued) {
    if (--flow_levels_ > 0) {
      stop = true;
      return status;
    }
    stop = flow_ == Flow::broken;
    flow_ = Flow::none;
  } else if (flow_ != Flow::none) {
    stop = true;
  }
  return status;
}

Truth Evaluator::for_loop(const Statement& statement) {
  const std::vector<Token>& tokens = script_->tokens.tokens;
  if (statement.first >= tokens.size()) {
    return Truth::unknown;
  }
  if (tokens[statement.first].kind == Token::Kind::arithmetic) {
    return arithmetic_loop(statement);
  }
  const std::string name(script_->view(tokens[statement.first]));
  std::vector<Field> values;
  if (statement.has_words) {
    const Tokenized words(tokens.begin() + statement.first + 2, tokens.begin() + statement.last);
    values = expand_words(words, 0);
  } else if (state_.positional_known) {
    values = state_.positional;
  }
  const bool known = std::none_of(values.begin(), values.end(), [](const Field& field) {
    return field.open || field.conditional;
  });
  const Statement& body = statement.children[0];
  const auto set = [&](const Field& field) {
    Variable variable;
    variable.values = {field};
    variable.set_at = field.written;
    set_variable(name, std::move(variable));
  };
  const Span where = span(tokens[statement.first].begin, tokens[statement.last - 1].end);
  if (known && values.size() <= max_rounds) {
    bool stop = false;
    for (std::size_t i = 0; i < values.size() && !stop && !stopped_; ++i) {
      set(values[i]);
      loop_body(body, stop);
    }
    return Truth::yes;
  }
  // How often it runs is not known: not at all, or once with an unknown value.
  branch(where, {[] {},
                 [&] {
                   Field field;
                   field.text = notes_.unknown(Reason::dynamic, "$" + name, where);
                   set(field);
                   bool stop = false;
                   loop_body(body, stop);
                 }});
  return Truth::unknown;
}

Truth Evaluator::arithmetic_loop(const Statement& statement) {
  const Token& head = script_->tokens.tokens[statement.first];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;
  std::uint32_t begin = head.begin + 2;
  for (std::uint32_t i = begin; i + 2 <= head.end; ++i) {
    if (script_->text[i] == ';' || i + 2 == head.end) {
      parts.emplace_back(begin, i);
      begin = i + 1;
    }
  }
  if (parts.size() != 3) {
    return Truth::unknown;
  }
  const auto value = [&](std::size_t part) {
    return arithmetic(expand_whole(parts[part].first, parts[part].second), nullptr, nullptr);
  };
  const auto blank_part = [&](std::size_t part) {
    return script_->view(parts[part].first, parts[part].second).find_first_not_of(" \t\n") ==
           std::string_view::npos;
  };
  if (!blank_part(0)) {
    value(0);
  }
  bool stop = false;
  for (int round = 0; !stop && !stopped_; ++round) {
    const std::optional<std::int64_t> holds = blank_part(1) ? 1 : value(1);
    if (holds && *holds == 0) {
      return Truth::yes;
    }
    if (!holds || round >= max_rounds) {
      branch(span(head.begin, head.end), {[] {}, [&] { loop_body(statement.children[0], stop); }});
      return Truth::unknown;
    }
    loop_body(statement.children[0], stop);
    if (!stop && !blank_part(2)) {
      value(2);
    }
  }
  return Truth::yes;
}

Truth Evaluator::while_loop(const Statement& statement) {
  const bool until = statement.kind == Statement::Kind::until_loop;
  const Statement& condition = statement.children[0];
  bool stop = false;
  for (int round = 0; !stop && !stopped_; ++round) {
    const State before = state_;
    Truth holds = sequence(condition.children);
    if (flow_ != Flow::none) {
      return Truth::unknown;
    }
    holds = until ? negated(holds) : holds;
    if (holds == Truth::no) {
      return Truth::yes;
    }
    if (holds == Truth::unknown || round >= max_rounds) {
      branch(span(condition.begin, condition.end),
             {[] {}, [&] { loop_body(statement.children[1], stop); }});
      return Truth::unknown;
    }
    const std::size_t commands = out_.commands.size();
    loop_body(statement.children[1], stop);
    if (flow_ == Flow::exited && !launched_since(commands)) {  // a guard, as in if
      state_ = before;
      flow_ = Flow::none;
    }
    if (state_.variables == before.variables &&
        state_.positional.size() == before.positional.size()) {
      return Truth::unknown;  // a round that changes nothing: only time ends this loop
    }
  }
  return Truth::yes;
}

}  // namespace shardlint::shell
