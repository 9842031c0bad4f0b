// Commands of the shell itself, and the output of the few tools that only rearrange text.

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

Char nowhere(char c) {
  return Char{c, Char::nowhere, 0, 0, 0};
}

bool may_vanish(const Field& field) {
  return field.open || field.conditional;
}

}  // namespace

Text Evaluator::joined(const std::vector<Field>& words, std::size_t from) {
  Text out;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (i > from) {
      out.chars.push_back(nowhere(' '));
    }
    out.append(words[i].text, words[i].conditional ? Char::conditional : 0);
  }
  return out;
}

void Evaluator::output(const Text& text, bool newline) {
  if (!capture_) {
    return;
  }
  if (capture_->text.size() + text.size() > (1u << 20)) {
    capture_->unknown = true;
    return;
  }
  capture_->text.append(text);
  if (newline) {
    capture_->text.chars.push_back(nowhere('\n'));
  }
}

Truth Evaluator::builtin_set(const std::vector<Field>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
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

// printf: %s, %d, %q and the usual escapes; nothing for what is rarer.
std::optional<Text> Evaluator::format(const std::vector<Field>& words, std::size_t from,
                                      const Span& where) {
  if (from >= words.size() || !words[from].text.known()) {
    return std::nullopt;
  }
  const Text& pattern = words[from].text;
  Text out;
  std::size_t argument = from + 1;
  bool any = false;
  do {
    any = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const Char& c = pattern.chars[i];
      const char next = i + 1 < pattern.size() ? pattern.chars[i + 1].c : '\0';
      if (c.c == '\\' && (next == 'n' || next == 't' || next == '\\')) {
        out.chars.push_back(nowhere(next == 'n' ? '\n' : next == 't' ? '\t' : '\\'));
        ++i;
      } else if (c.c == '%' && next == '%') {
        out.chars.push_back(pattern.chars[++i]);
      } else if (c.c == '%') {
        ++i;
        any = true;
        Field value = argument < words.size() ? words[argument] : Field{};
        ++argument;
        if (may_vanish(value) && next != 's') {
          return std::nullopt;
        }
        if (next == 's') {
          out.append(value.text, value.conditional ? Char::conditional : 0);
        } else if (next == 'd') {
          const auto n = value.text.empty() ? std::optional<std::int64_t>(0) : number(value.text);
          if (!n) {
            return std::nullopt;
          }
          out.append(notes_.computed(std::to_string(*n), where));
        } else if (next == 'q') {
          out.append(changed(value.text, "@Q", 0, 0, where));
        } else {
          return std::nullopt;
        }
      } else {
        out.chars.push_back(c);
      }
    }
  } while (any && argument < words.size() && step());
  return out;
}

Truth Evaluator::print(const std::vector<Field>& words, const Span& where) {
  if (words[0].text.plain() == "echo") {
    std::size_t from = 1;
    bool newline = true, escapes = false;
    while (from < words.size()) {
      const std::string option = words[from].text.plain();
      if (option != "-n" && option != "-e" && option != "-E" && option != "-ne" &&
          option != "-en") {
        break;
      }
      newline = newline && option.find('n') == std::string::npos;
      escapes = escapes || option.find('e') != std::string::npos;
      ++from;
    }
    if (escapes && capture_ &&
        std::any_of(
            words.begin() + static_cast<std::ptrdiff_t>(from), words.end(),
            [](const Field& f) { return f.text.plain().find('\\') != std::string::npos; })) {
      capture_->unknown = true;
      return Truth::yes;
    }
    if (capture_) {
      output(joined(words, from), newline);
    }
    return Truth::yes;
  }
  const bool to_variable = words.size() > 3 && words[1].text.plain() == "-v";
  if (!to_variable && !capture_) {
    return Truth::yes;
  }
  std::size_t from = to_variable ? 3 : 1;
  if (from < words.size() && words[from].text.plain() == "--") {
    ++from;
  }
  const std::optional<Text> text = format(words, from, where);
  if (to_variable) {
    Variable variable;
    Field field;
    field.text = text ? *text : notes_.unknown(Reason::command, "printf", where);
    variable.values = {std::move(field)};
    variable.set_at = where;
    const std::string name = words[2].text.plain();
    if (is_name(name)) {
      set_variable(name, std::move(variable));
    }
  } else if (text) {
    output(*text, false);
  } else {
    capture_->unknown = true;
  }
  return Truth::yes;
}

// Questions that scripts ask the machine. The job is taken to run on NVIDIA GPUs, as everything
// else that is checked takes it; nothing for what may be either way.
std::optional<Truth> Evaluator::probe(const std::string& name, const std::vector<Field>& words) {
  const std::string last = words.back().text.plain();
  if (name == "npu-smi" || (name == "command" && last == "npu-smi")) {
    return Truth::no;
  }
  if (name.starts_with("python") && words.size() == 3 && words[1].text.plain() == "-c" &&
      last.find("import torch_npu") != std::string::npos &&
      last.find("print") == std::string::npos) {
    return Truth::no;
  }
  return std::nullopt;
}

// Tools whose output is told by their words alone. False: not one of them.
bool Evaluator::output_of_tool(const std::string& name, const std::vector<Field>& words,
                               const Span& where) {
  std::vector<Field> arguments;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
    if (may_vanish(words[i])) {
      return false;
    }
    if (word.size() > 1 && word[0] == '-' && !to_integer(word)) {
      if (name == "basename" || word == "-s" || word == "-w") {
        return false;
      }
      continue;
    }
    arguments.push_back(words[i]);
  }
  if (name == "pwd" ||
      (name == "git" && words.size() == 3 && words[2].text.plain() == "--show-toplevel")) {
    const std::string path = name == "pwd" ? state_.directory : std::string();
    output(notes_.unknown(Reason::machine, "$(" + name + ")", where, path), true);
    notes_.never_empty();
    return true;
  }
  for (const std::string_view clock : {"date", "hostname", "whoami", "nproc", "mktemp", "uname",
                                       "id", "nvidia-smi", "uuidgen", "hostid", "free"}) {
    if (name == clock) {
      output(notes_.unknown(Reason::machine, "$(" + std::string(where.text()) + ")", where), true);
      return true;
    }
  }
  if (name == "cat") {
    if (arguments.empty() && input_) {
      output(*input_, false);
      return true;
    }
    if (arguments.size() == 1) {
      const auto found = state_.files.find(arguments[0].text.plain());
      if (found != state_.files.end()) {
        output(found->second, false);
        return true;
      }
    }
    return false;
  }
  if ((name == "dirname" || name == "realpath" || name == "readlink") && arguments.size() == 1) {
    const std::string path = notes_.path_of(arguments[0].text);
    const Text& text = arguments[0].text;
    if (text.known() && name == "dirname") {
      const std::string plain = text.plain();
      const std::size_t slash = plain.find_last_of('/');
      if (slash == std::string::npos || slash == 0 || slash + 1 == plain.size()) {
        output(notes_.computed(parent_path(plain), where), true);
      } else {
        output(text.slice(0, slash), true);
      }
      return true;
    }
    if (!text.known() && !path.empty()) {
      output(notes_.unknown(Reason::machine, "$(" + name + " ...)", where,
                            name == "dirname" ? parent_path(path) : path),
             true);
      notes_.never_empty();
      return true;
    }
    return false;
  }
  if (name == "basename" && !arguments.empty()) {
    Text text = arguments[0].text;
    while (text.size() > 1 && text.chars.back().c == '/') {
      text.chars.pop_back();
    }
    std::size_t slash = text.size();
    while (slash > 0 && text.chars[slash - 1].c != '/') {
      --slash;
    }
    Text last = text.slice(slash, text.size());
    if (!last.known() || last.empty()) {
      return false;
    }
    if (arguments.size() > 1 && arguments[1].text.known()) {
      const std::string suffix = arguments[1].text.plain(), plain = last.plain();
      if (suffix.size() < plain.size() && plain.ends_with(suffix)) {
        last = last.slice(0, plain.size() - suffix.size());
      }
    }
    output(last, true);
    return true;
  }
  if (name == "seq" && !arguments.empty() && arguments.size() <= 3) {
    std::vector<std::int64_t> numbers;
    for (const Field& each : arguments) {
      const auto n = number(each.text);
      if (!n) {
        return false;
      }
      numbers.push_back(*n);
    }
    const std::int64_t from = numbers.size() > 1 ? numbers[0] : 1;
    const std::int64_t by = numbers.size() > 2 ? numbers[1] : 1;
    const std::int64_t to = numbers.back();
    if (by == 0 || std::abs(by) > 1000000 || std::abs(from) > 1000000 || std::abs(to) > 1000000 ||
        std::abs((to - from) / by) > 2000) {
      return false;
    }
    for (std::int64_t n = from; by > 0 ? n <= to : n >= to; n += by) {
      output(notes_.computed(std::to_string(n), where), true);
    }
    return true;
  }
  return false;
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
