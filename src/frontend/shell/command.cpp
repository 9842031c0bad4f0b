// Simple commands: their input and environment, and what is handed on to builtins or recorded.

#include <algorithm>

#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

bool declares(std::string_view word) {
  return word == "export" || word == "local" || word == "declare" || word == "typeset" ||
         word == "readonly";
}

// Programs that launch nothing: their environment is of no interest.
bool is_plain_tool(std::string_view name) {
  static constexpr std::string_view tools[] = {
      "mkdir",    "rm",      "cp",         "mv",     "ls",     "cat",   "sleep", "pip",
      "pip3",     "git",     "wget",       "curl",   "tar",    "chmod", "which", "date",
      "hostname", "touch",   "ln",         "grep",   "sed",    "awk",   "tee",   "find",
      "kill",     "pkill",   "nvidia-smi", "echo",   "printf", "wc",    "head",  "tail",
      "sort",     "apt-get", "conda",      "module", "ulimit", "unzip", "trap",  "wait"};
  return std::find(std::begin(tools), std::end(tools), name) != std::end(tools);
}

}  // namespace

Text Evaluator::here_document(const HereDocument& document) {
  if (document.literal) {
    Text out = script_->cut(document.begin, document.end, 0);
    if (document.strip_tabs) {
      Text stripped;
      bool line_start = true;
      for (const Char& c : out.chars) {
        if (line_start && c.c == '\t') {
          continue;
        }
        line_start = c.c == '\n';
        stripped.chars.push_back(c);
      }
      return stripped;
    }
    return out;
  }
  WordBuilder out;
  out.split = false;
  ++depth_;
  if (depth_ < 140) {
    expand_quoted(out, document.begin, document.end, true);
  }
  --depth_;
  if (document.strip_tabs) {
    Text stripped;
    bool line_start = true;
    for (const Char& c : out.current.text.chars) {
      if (line_start && c.c == '\t') {
        continue;
      }
      line_start = c.c == '\n';
      stripped.chars.push_back(c);
    }
    return stripped;
  }
  return std::move(out.current.text);
}

std::optional<Text> Evaluator::input_of(const Tokenized& tokens) {
  std::optional<Text> out;
  for (const Token& token : tokens) {
    if (token.kind != Token::Kind::redirect) {
      continue;
    }
    const std::string_view text = script_->view(token);
    if (token.document >= 0) {
      out = here_document(script_->tokens.documents[static_cast<std::size_t>(token.document)]);
    } else if (text.substr(0, 3) == "<<<") {
      out = expand_whole(token.target, token.end);
      out->chars.push_back(Char{'\n', Char::nowhere, 0, 0, 0});
    } else if (text[0] == '<' && text.substr(0, 2) != "<&") {
      const Text path = expand_whole(token.target, token.end);
      const auto found = state_.files.find(path.known() ? path.plain() : std::string());
      out = found != state_.files.end()
                ? found->second
                : notes_.unknown(Reason::machine, "the content of " + path.plain(),
                                 span(token.begin, token.end));
    }
  }
  return out;
}

std::shared_ptr<const std::vector<Environment>> Evaluator::environment() {
  if (!environment_changed_ && prefix_.empty() && environment_) {
    return environment_;
  }
  auto out = std::make_shared<std::vector<Environment>>();
  for (const auto& [name, variable] : state_.variables) {
    const bool seen = variable->exported && !variable->unset;
    if ((!seen && !variable->unset && !concerns_training(name)) ||
        (variable->unset && !variable->set_at) || variable->kind != Variable::Kind::scalar) {
      continue;
    }
    Environment entry;
    entry.name = name;
    entry.set_at = variable->set_at;
    entry.unset = variable->unset;
    entry.exported = variable->exported || variable->unset;
    Field value = variable->values.empty() ? Field{} : variable->values.front();
    entry.value = to_word(value, notes_);
    out->push_back(std::move(entry));
  }
  for (const Environment& each : prefix_) {
    const auto at = std::find_if(out->begin(), out->end(),
                                 [&](const Environment& e) { return e.name == each.name; });
    if (at != out->end()) {
      *at = each;
    } else {
      out->push_back(each);
    }
  }
  std::sort(out->begin(), out->end(),
            [](const Environment& a, const Environment& b) { return a.name < b.name; });
  if (prefix_.empty()) {
    environment_ = out;
    environment_changed_ = false;
  }
  return out;
}

void Evaluator::record(std::vector<Field> words, const Span& where) {
  if (out_.commands.size() >= 5000) {
    return limit("the script runs too many commands to be followed", where);
  }
  step(words.size());
  Command out;
  for (const Field& field : words) {
    out.words.push_back(to_word(field, notes_));
  }
  if (out.words.empty()) {
    return;
  }
  if (!is_plain_tool(out.words.front().text())) {
    out.environment = environment();
  } else {
    static const auto none = std::make_shared<const std::vector<Environment>>();
    out.environment = none;
  }
  out.headers = headers_;
  out.around = around_;
  out.chain = chain_;
  out.span = where;
  out.conditional = static_cast<bool>(condition_);
  out.condition = condition_;
  out_.commands.push_back(std::move(out));
}

Truth Evaluator::command(const Statement& statement) {
  const std::vector<Token>& all = script_->tokens.tokens;
  const Tokenized tokens(all.begin() + statement.first, all.begin() + statement.last);
  std::size_t first = 0;
  while (first < tokens.size() && (tokens[first].kind == Token::Kind::assignment ||
                                   tokens[first].kind == Token::Kind::array ||
                                   tokens[first].kind == Token::Kind::redirect)) {
    ++first;
  }
  const Span where = span(statement.begin, statement.end);
  const std::optional<Text> outer_input = input_;
  const std::optional<Text> own_input = input_of(tokens);
  if (own_input) {
    input_ = own_input;
  }
  const auto leave = [&](Truth status) {
    if (own_input) {  // else it may have read from what is around
      input_ = outer_input;
    }
    return status;
  };
  if (first == tokens.size()) {
    for (const Token& token : tokens) {
      if (token.kind != Token::Kind::redirect) {
        assign(token, false);
      }
    }
    return leave(Truth::yes);
  }
  const Token& head = tokens[first];
  if (head.kind == Token::Kind::test) {
    return leave(double_bracket(head));
  }
  if (head.kind == Token::Kind::arithmetic) {
    const bool assume = assume_;
    assume_ = true;
    WordBuilder inside;
    inside.split = false;
    if (head.end >= head.begin + 4) {
      expand_quoted(inside, head.begin + 2, head.end - 2);
    }
    const auto value = arithmetic(inside.current.text, nullptr, nullptr);
    assume_ = assume;
    return leave(value ? truth(*value != 0) : Truth::unknown);
  }
  const std::string_view word = script_->view(head);
  if (declares(word)) {
    return leave(declare(word, tokens, first + 1));
  }
  if (word == "[" || word == "test") {
    const bool assume = assume_;
    assume_ = true;
    std::vector<Field> words = expand_words(tokens, first);
    if (word == "[" && !words.empty() && words.back().text.plain() == "]") {
      words.pop_back();
    }
    const Truth status = test(words, 1);
    assume_ = assume;
    return leave(status);
  }
  // NAME=value before a command: in its environment alone.
  const std::vector<Environment> outer_prefix = prefix_;
  std::map<std::string, VariablePtr> covered;
  std::vector<Field> words = expand_words(tokens, first);
  const std::string name = words.empty() || !words[0].text.known() ? "" : words[0].text.plain();
  const bool in_shell = name == "read" || name == "eval" || state_.functions.contains(name) ||
                        name == "source" || name == ".";
  for (std::size_t i = 0; i < first; ++i) {
    if (tokens[i].kind != Token::Kind::assignment) {
      continue;
    }
    const std::string_view text = script_->view(tokens[i]);
    const std::string variable(text.substr(0, name_length(text)));
    const auto before = state_.variables.find(variable);
    const VariablePtr old = before == state_.variables.end() ? nullptr : before->second;
    covered.emplace(variable, old);
    assign(tokens[i], in_shell);
    Environment entry;
    entry.name = variable;
    entry.set_at = span(tokens[i].begin, tokens[i].end);
    entry.prefix = true;
    const Variable* now = state_.find(variable);
    entry.value = to_word(now && !now->values.empty() ? now->values.front() : Field{}, notes_);
    if (!in_shell) {
      if (old) {
        state_.variables[variable] = old;
      } else {
        state_.variables.erase(variable);
      }
    }
    prefix_.push_back(std::move(entry));
  }
  // What it writes to a file may be run later.
  std::string target;
  bool appends = false;
  for (const Token& token : tokens) {
    const std::string_view text = script_->view(token);
    if (token.kind == Token::Kind::redirect && text[0] == '>' && text.substr(0, 2) != ">&") {
      const Text path = expand_whole(token.target, token.end);
      target = path.plain();
      appends = text.substr(0, 2) == ">>";
    }
  }
  Truth status = Truth::unknown;
  if (!target.empty() && (name == "cat" || name == "echo" || name == "printf")) {
    Capture capture;
    Capture* const outer = capture_;
    capture_ = &capture;
    status = run_words(std::move(words), where);
    capture_ = outer;
    Text& file = state_.files[target];
    Text content = capture.unknown
                       ? notes_.unknown(Reason::command, "the content of " + target, where)
                       : std::move(capture.text);
    if (appends) {
      file.append(content);
    } else {
      file = std::move(content);
    }
  } else {
    status = run_words(std::move(words), where);
  }
  if (in_shell && name != "read") {
    for (const auto& [variable, old] : covered) {
      if (old) {
        state_.variables[variable] = old;
      } else {
        state_.variables.erase(variable);
      }
    }
    environment_changed_ = true;
  }
  prefix_ = outer_prefix;
  return leave(status);
}

Truth Evaluator::run_words(std::vector<Field> words, const Span& where) {
  if (words.empty() || stopped_) {
    return Truth::yes;
  }
  if (words[0].text.known()) {
    const std::string name = words[0].text.plain();
    if (state_.functions.contains(name)) {
      return call_function(name, words, where);
    }
    if (const std::optional<Truth> status = builtin(name, words, where)) {
      return *status;
    }
  }
  if (words[0].text.known()) {
    if (const std::optional<Truth> answer = probe(words[0].text.plain(), words)) {
      return *answer;
    }
  }
  if (follow(words, where)) {
    return Truth::unknown;
  }
  if (capture_ && words[0].text.known() && output_of_tool(words[0].text.plain(), words, where)) {
    return Truth::yes;
  }
  if (capture_) {
    capture_->unknown = true;
  }
  record(std::move(words), where);
  return Truth::unknown;
}

}  // namespace shardlint::shell
