// Variables: NAME=value, NAME+=(...), export, local, declare.

#include <algorithm>

#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

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

}  // namespace

// Variables that a training program or its libraries read.
bool concerns_training(std::string_view name) {
  static constexpr std::string_view prefixes[] = {"CUDA_",  "NCCL_", "NVTE_", "TORCH",  "PYTORCH_",
                                                  "HF_",    "VLLM_", "RAY_",  "OMP_",   "UB_",
                                                  "TRITON", "WANDB", "HYDRA", "NVSHMEM"};
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

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
  const VariablePtr before = state_.hold(name);
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
    if (append && !before && !absent_source_.empty()) {
      Field rest;
      rest.text = notes_.unknown(Reason::sourced, absent_source_, where);
      rest.open = true;
      out.values.push_back(std::move(rest));
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
    if (from == token.end && script_->view(from, from + 1) == "<") {
      // NAME=<path of the data>: to bash a redirection, to people a blank to be filled in.
      field.text = notes_.unknown(Reason::argument, name + "=<...>, still to be filled in", where);
    }
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
      if (value.from_environment && !absent_source_.empty()) {
        whole = notes_.unknown(Reason::sourced, absent_source_, where);
      } else if (value.from_environment) {
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

}  // namespace shardlint::shell
