// Simple commands: assignments, declarations, and what is handed on to builtins or recorded.

#include <algorithm>

#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

bool declares(std::string_view word) {
  return word == "export" || word == "local" || word == "declare" || word == "typeset" ||
         word == "readonly";
}

// Where NAME, NAME[key] ends and the value begins; npos when the text is no assignment.
std::size_t value_begin(std::string_view text) {
  std::size_t i = name_length(text);
  if (i == 0) {
    return std::string_view::npos;
  }
  if (i < text.size() && text[i] == '[') {
    const std::size_t close = text.find(']', i);
    if (close == std::string_view::npos) {
      return close;
    }
    i = close + 1;
  }
  i += i < text.size() && text[i] == '+' ? 1 : 0;
  return i < text.size() && text[i] == '=' ? i + 1 : std::string_view::npos;
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

// Variables that a training program or its libraries read.
bool concerns_training(std::string_view name) {
  static constexpr std::string_view prefixes[] = {"CUDA_",  "NCCL_", "NVTE_", "TORCH",  "PYTORCH_",
                                                  "HF_",    "VLLM_", "RAY_",  "OMP_",   "UB_",
                                                  "TRITON", "WANDB", "HYDRA", "NVSHMEM"};
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

}  // namespace

void Evaluator::set_variable(const std::string& name, Variable value) {
  std::size_t size = 0;
  for (const Field& field : value.values) {
    size += field.text.size();
  }
  held_ += size;
  step(size / 256);
  if (value.values.size() > (1u << 16) || size > (1u << 20) || held_ > (1u << 25)) {
    limit("a variable grows too large to be followed", value.set_at);
    value.values.clear();
    Field field;
    field.text = notes_.unknown(Reason::limit, "$" + name, value.set_at);
    value.values.push_back(std::move(field));
  }
  const auto found = state_.variables.find(name);
  const bool was_exported = found != state_.variables.end() && found->second->exported;
  value.exported = value.exported || was_exported || state_.export_all;
  environment_changed_ = environment_changed_ || value.exported || concerns_training(name);
  state_.variables[name] = std::make_shared<const Variable>(std::move(value));
}

void Evaluator::make_local(const std::string& name) {
  if (state_.hidden.empty()) {
    return;
  }
  auto& hidden = state_.hidden.back();
  if (!hidden.contains(name)) {
    const auto found = state_.variables.find(name);
    hidden[name] = found == state_.variables.end() ? nullptr : found->second;
    environment_changed_ = true;
  }
}

// NAME=value, NAME+=value, NAME[key]=value, NAME=( ... ).
void Evaluator::assign(const Token& token, bool exported, bool local) {
  const std::string_view text = script_->view(token);
  const std::size_t begin = value_begin(text);
  const std::string name(text.substr(0, name_length(text)));
  if (begin == std::string_view::npos || name.empty()) {
    return;
  }
  const bool append = text[begin - 2] == '+';
  const std::uint32_t from = token.begin + static_cast<std::uint32_t>(begin);
  const Span where = span(token.begin, token.end);
  const Variable* const before = state_.find(name);
  const bool map = before && before->kind == Variable::Kind::map;
  Variable out;
  if (append && before) {
    out = *before;
  }
  out.unset = false;
  out.set_at = where;
  out.exported = exported || (before && before->exported);
  if (token.kind == Token::Kind::array) {
    out.kind = map ? Variable::Kind::map : Variable::Kind::array;
    if (append && before && before->kind == Variable::Kind::scalar && before->values.empty()) {
      out.values.clear();
    }
    for (const Token& element : array_elements(script_->text, from + 1, token.end - 1)) {
      const std::string_view written = script_->view(element);
      const std::size_t close =
          written.empty() || written[0] != '[' ? std::string_view::npos : written.find("]=");
      if (close != std::string_view::npos) {
        const std::uint32_t value_at = element.begin + static_cast<std::uint32_t>(close) + 2;
        Field field;
        field.text = expand_whole(value_at, element.end, true);
        field.written = span(value_at, element.end);
        if (map) {
          out.keys.push_back(
              expand_whole(element.begin + 1, element.begin + static_cast<std::uint32_t>(close))
                  .plain());
        }
        out.values.push_back(std::move(field));
        continue;
      }
      for (Field& field : expand_word(element)) {
        out.values.push_back(std::move(field));
      }
    }
  } else {
    Field field;
    field.text = expand_whole(from, token.end, true);
    field.written = span(from, token.end);
    const std::size_t bracket = text.find('[');
    if (bracket == name.size()) {  // NAME[key]=value
      const std::size_t close = text.find(']', bracket);
      const std::uint32_t key_begin = token.begin + static_cast<std::uint32_t>(bracket) + 1;
      const std::uint32_t key_end = token.begin + static_cast<std::uint32_t>(close);
      out = before ? *before : Variable{};
      out.set_at = where;
      if (map) {
        const std::string key = expand_whole(key_begin, key_end).plain();
        const auto at = std::find(out.keys.begin(), out.keys.end(), key);
        if (at != out.keys.end()) {
          out.values[static_cast<std::size_t>(at - out.keys.begin())] = std::move(field);
        } else {
          out.keys.push_back(key);
          out.values.push_back(std::move(field));
        }
      } else {
        const auto index = arithmetic(expand_whole(key_begin, key_end), nullptr, nullptr);
        out.kind = Variable::Kind::array;
        const std::size_t size = out.values.size();
        if (index && *index >= 0 && static_cast<std::size_t>(*index) <= size) {
          if (static_cast<std::size_t>(*index) == size) {
            out.values.push_back(std::move(field));
          } else {
            out.values[static_cast<std::size_t>(*index)] = std::move(field);
          }
        } else {
          Field any;
          any.text = notes_.unknown(Reason::dynamic, "${" + name + "[@]}", where);
          any.open = true;
          out.values = {std::move(any)};
        }
      }
    } else if (append && before && !before->values.empty() && !before->integer) {
      Field whole = before->values.front();
      whole.text.append(field.text);
      whole.written = field.written;
      out.values[0] = std::move(whole);
    } else if (append && !before) {
      // What the environment holds, and this after it.
      const Parameter value = lookup(name, where);
      Text whole;
      if (value.from_environment) {
        whole.env_default = true;
      } else if (!value.fields.empty()) {
        whole = value.fields.front().text;
      }
      whole.append(field.text);
      field.text = std::move(whole);
      out.values = {std::move(field)};
    } else {
      if (before && before->integer) {
        const auto add = arithmetic(field.text, nullptr, nullptr);
        const auto old = append ? number(before->scalar()) : std::optional<std::int64_t>(0);
        if (add && old) {
          field.text = notes_.computed(std::to_string(*add + *old), where);
        } else {
          field.text = notes_.unknown(Reason::dynamic, std::string(text), where);
        }
        out.integer = true;
      }
      out.kind = Variable::Kind::scalar;
      out.values = {std::move(field)};
    }
  }
  if (local) {
    make_local(name);
  }
  set_variable(name, std::move(out));
}

// export, local, declare, readonly: their arguments are assignments, not words.
Truth Evaluator::declare(std::string_view keyword, const Tokenized& tokens, std::size_t from) {
  bool exported = keyword == "export", remove = false, map = false, array = false, integer = false;
  bool global = false;
  const bool local_word = keyword == "local" || keyword == "declare" || keyword == "typeset";
  for (std::size_t i = from; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind == Token::Kind::redirect) {
      continue;
    }
    const std::string_view text = script_->view(token);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      exported = exported || (text[0] == '-' && text.find('x') != std::string_view::npos);
      remove = remove || (keyword == "export" && text.find('n') != std::string_view::npos);
      map = map || text.find('A') != std::string_view::npos;
      array = array || text.find('a') != std::string_view::npos;
      integer = integer || text.find('i') != std::string_view::npos;
      global = global || text.find('g') != std::string_view::npos;
      if (text.find('f') != std::string_view::npos || text.find('p') != std::string_view::npos) {
        return Truth::yes;
      }
      continue;
    }
    const bool local = local_word && !global;
    if (value_begin(text) != std::string_view::npos) {
      const std::string name(text.substr(0, name_length(text)));
      if (map || integer) {
        Variable fresh;
        fresh.kind = map ? Variable::Kind::map : Variable::Kind::scalar;
        fresh.integer = integer;
        if (local) {
          make_local(name);
        }
        set_variable(name, std::move(fresh));
      }
      assign(token, exported, local);
      continue;
    }
    for (const Field& field : expand_word(token)) {
      const std::string word = field.text.plain();
      if (!field.text.known()) {
        continue;
      }
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (!is_name(name)) {
        continue;
      }
      if (local) {
        make_local(name);
      }
      const Variable* before = state_.find(name);
      Variable value;
      if (equals != std::string::npos) {
        Field one = field;
        one.text = field.text.slice(equals + 1, field.text.size());
        value.values = {std::move(one)};
        value.set_at = span(token.begin, token.end);
      } else if (before && !(local_word && !global && !exported && !state_.hidden.empty())) {
        value = *before;
      } else {
        if (exported && !local_word) {
          const Parameter outside = lookup(name, span(token.begin, token.end));
          if (outside.from_environment || outside.set) {
            continue;  // already in the environment, if anywhere
          }
        }
        value.unset = !map && !array;
        value.set_at = span(token.begin, token.end);
      }
      value.kind = map ? Variable::Kind::map : array ? Variable::Kind::array : value.kind;
      value.integer = value.integer || integer;
      value.exported = exported && !remove;
      if (remove) {
        state_.variables.erase(name);
        environment_changed_ = true;
      }
      set_variable(name, std::move(value));
    }
  }
  return Truth::yes;
}

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
