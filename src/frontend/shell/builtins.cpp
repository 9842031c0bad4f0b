// Commands of the shell itself.

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

bool may_vanish(const Field& field) {
  return field.open || field.conditional;
}

}  // namespace

Truth Evaluator::builtin_set(const std::vector<Field>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
    if (word.size() > 1 && word.back() == 'o' && i + 1 < words.size() &&
        words[i + 1].text.plain() == "pipefail") {
      state_.pipefail = word[0] == '-';
    }
    if (word == "-a" || word == "+a" || word == "-o" || word == "+o") {
      const bool all = word.size() == 2 && word[1] == 'a';
      const bool named =
          word[1] == 'o' && i + 1 < words.size() && words[i + 1].text.plain() == "allexport";
      if (all || named) {
        state_.export_all = word[0] == '-';
      }
      i += word[1] == 'o' ? 1 : 0;
      continue;
    }
    if (word == "--") {
      state_.positional.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      state_.positional_known = true;
      // set -- "$@": the arguments that were not given are still not given
      if (state_.positional.size() == 1 && state_.positional[0].open) {
        state_.positional.clear();
        state_.positional_known = options_.arguments_known;
      }
      return Truth::yes;
    }
    if (word.empty() || (word[0] != '-' && word[0] != '+')) {
      state_.positional.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      state_.positional_known = true;
      return Truth::yes;
    }
    if (word[0] == '-' && word.find('a') != std::string::npos && word.size() < 6) {
      state_.export_all = true;
    }
    if (word.back() == 'o' && i + 1 < words.size()) {
      ++i;  // -euo pipefail
    }
  }
  return Truth::yes;
}

Truth Evaluator::builtin_shift(const std::vector<Field>& words) {
  std::int64_t count = 1;
  if (words.size() > 1) {
    const auto given = number(words[1].text);
    if (!given || *given < 0) {
      state_.positional_known = false;
      state_.positional.clear();
      return Truth::unknown;
    }
    count = *given;
  }
  if (!state_.positional_known) {
    return Truth::yes;
  }
  if (count > static_cast<std::int64_t>(state_.positional.size())) {
    return Truth::no;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (may_vanish(state_.positional.front())) {
      state_.positional_known = false;
      state_.positional.clear();
      return Truth::unknown;
    }
    state_.positional.erase(state_.positional.begin());
  }
  return Truth::yes;
}

Truth Evaluator::builtin_unset(const std::vector<Field>& words, const Span& where) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].text.known()) {
      continue;
    }
    const std::string name = words[i].text.plain();
    if (!is_name(name)) {
      continue;  // an option, or one element of an array
    }
    make_local(name);
    Variable gone;
    gone.unset = true;
    gone.set_at = words[i].written ? words[i].written : where;
    state_.variables[name] = std::make_shared<const Variable>(std::move(gone));
    environment_changed_ = true;
  }
  return Truth::yes;
}

Truth Evaluator::builtin_cd(const std::vector<Field>& words) {
  std::vector<Field> arguments;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
    if (word.empty() || word[0] != '-') {
      arguments.push_back(words[i]);
    }
  }
  if (arguments.empty()) {
    state_.directory.clear();
    return Truth::yes;
  }
  bool reachable = false;
  const std::optional<std::string> path = resolve(arguments[0].text, reachable);
  state_.directory = path && disk_.is_directory(*path) ? *path : std::string();
  return Truth::yes;
}

// read [-r] [-a ARRAY] NAME... from a here-string, here-document or pipe.
Truth Evaluator::builtin_read(const std::vector<Field>& words, const Span& where) {
  bool to_array = false;
  std::vector<std::string> names;
  std::string delimiter = "\n";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
    if (word.size() > 1 && word[0] == '-' && names.empty()) {
      to_array = to_array || word.find('a') != std::string::npos;
      if (word.back() == 'd' && i + 1 < words.size()) {
        delimiter = words[++i].text.plain();
      } else if (std::string_view("pntNiu").find(word.back()) != std::string_view::npos) {
        ++i;
      }
      continue;
    }
    if (is_name(word)) {
      names.push_back(word);
    }
  }
  std::string separators = " \t\n";
  for (const Environment& each : prefix_) {
    if (each.name == "IFS") {
      separators = each.value.text();
    }
  }
  const auto set = [&](const std::string& name, std::vector<Field> fields, bool array) {
    Variable variable;
    variable.kind = array ? Variable::Kind::array : Variable::Kind::scalar;
    variable.values = std::move(fields);
    variable.set_at = where;
    set_variable(name, std::move(variable));
  };
  const bool known = input_ && std::none_of(input_->chars.begin(), input_->chars.end(),
                                            [](const Char& c) { return c.has(Char::conditional); });
  if (!known || (input_->size() == 1 && !input_->known())) {
    for (const std::string& name : names) {
      Field field;
      field.text = notes_.unknown(Reason::command, "$" + name, where);
      field.open = to_array;
      set(name, {std::move(field)}, to_array);
    }
    return Truth::unknown;
  }
  Text line;
  std::size_t used = 0;
  for (; used < input_->size(); ++used) {
    const char c = input_->chars[used].c;
    if (!delimiter.empty() && c == delimiter[0]) {
      ++used;
      break;
    }
    line.chars.push_back(input_->chars[used]);
  }
  *input_ = input_->slice(used, input_->size());
  const bool blanks = separators.find(' ') != std::string::npos;
  std::vector<Field> fields;
  Field current;
  bool some = false;
  for (const Char& c : line.chars) {
    const bool separates = !c.has(Char::unknown) && separators.find(c.c) != std::string::npos &&
                           (to_array || fields.size() + 1 < names.size());
    if (!separates) {
      if (!some && blanks && (c.c == ' ' || c.c == '\t')) {
        continue;
      }
      current.text.chars.push_back(c);
      some = true;
    } else if (some || !blanks) {
      fields.push_back(std::move(current));
      current = {};
      some = false;
    }
  }
  if (some) {
    while (blanks && !current.text.empty() &&
           (current.text.chars.back().c == ' ' || current.text.chars.back().c == '\n')) {
      current.text.chars.pop_back();
    }
    fields.push_back(std::move(current));
  }
  for (Field& field : fields) {
    field.written = notes_.hull(field.text);
  }
  if (to_array && !names.empty()) {
    set(names[0], std::move(fields), true);
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) {
      set(names[i], {i < fields.size() ? fields[i] : Field{}}, false);
    }
  }
  return truth(!line.empty() || used > 0);
}

std::optional<Truth> Evaluator::builtin(const std::string& name, std::vector<Field>& words,
                                        const Span& where) {
  if (name == "exit") {
    flow_ = Flow::exited;
    return Truth::unknown;
  }
  if (name == "return") {
    flow_ = Flow::returned;
    if (words.size() > 1) {
      const auto code = number(words[1].text);
      return code ? truth(*code == 0) : Truth::unknown;
    }
    return last_status_;
  }
  if (name == "break" || name == "continue") {
    const auto levels = words.size() > 1 ? number(words[1].text) : std::optional<std::int64_t>(1);
    flow_ = name == "break" ? Flow::broken : Flow::continued;
    flow_levels_ = static_cast<int>(std::clamp<std::int64_t>(levels.value_or(1), 1, 100));
    return Truth::yes;
  }
  if (name == "true" || name == ":" || name == "trap" || name == "wait" || name == "umask" ||
      name == "ulimit" || name == "shopt" || name == "hash" || name == "alias" ||
      name == "disown" || name == "bind" || name == "enable") {
    return Truth::yes;
  }
  if (name == "false") {
    return Truth::no;
  }
  if (name == "echo" || name == "printf") {
    return print(words, where);
  }
  if (name == "set") {
    return builtin_set(words);
  }
  if (name == "shift") {
    return builtin_shift(words);
  }
  if (name == "unset") {
    return builtin_unset(words, where);
  }
  if (name == "cd" || name == "pushd") {
    return builtin_cd(words);
  }
  if (name == "popd") {
    state_.directory.clear();
    return Truth::yes;
  }
  if (name == "read") {
    return builtin_read(words, where);
  }
  if (name == "let") {
    std::optional<std::int64_t> value;
    for (std::size_t i = 1; i < words.size(); ++i) {
      value = arithmetic(words[i].text, nullptr, nullptr);
    }
    return value ? truth(*value != 0) : Truth::unknown;
  }
  if (name == "getopts") {
    if (state_.positional_known ? state_.positional.empty() : true) {
      return Truth::no;  // nothing was given
    }
    return Truth::unknown;
  }
  if (name == "mapfile" || name == "readarray") {
    for (std::size_t i = words.size(); i-- > 1;) {
      const std::string variable = words[i].text.plain();
      if (is_name(variable)) {
        Field field;
        field.text = notes_.unknown(Reason::command, "${" + variable + "[@]}", where);
        field.open = true;
        Variable value;
        value.kind = Variable::Kind::array;
        value.values = {std::move(field)};
        value.set_at = where;
        set_variable(variable, std::move(value));
        break;
      }
    }
    return Truth::unknown;
  }
  if (name == "eval") {
    run_string(joined(words, 1), where, "eval");
    return last_status_;
  }
  if (name == "source" || name == ".") {
    source_file(words, where);
    return last_status_;
  }
  if (name == "command" || name == "builtin" || name == "time" || name == "exec") {
    const std::string option = words.size() > 1 ? words[1].text.plain() : "";
    if (words.size() < 2) {
      return Truth::yes;
    }
    if (name == "command" && (option == "-v" || option == "-V")) {
      if (const std::optional<Truth> answer = probe(name, words)) {
        return *answer;
      }
      if (capture_) {
        capture_->unknown = true;
      }
      return Truth::unknown;
    }
    std::size_t skip = 1;
    while (skip < words.size() && words[skip].text.plain().starts_with("-")) {
      ++skip;
    }
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(skip));
    if (words.empty()) {
      return Truth::yes;
    }
    const Truth status = run_words(std::move(words), where);
    if (name == "exec") {
      flow_ = Flow::exited;
    }
    return status;
  }
  return std::nullopt;
}

}  // namespace shardlint::shell
