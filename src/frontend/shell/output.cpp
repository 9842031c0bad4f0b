// What commands print, as far as it can be told without running them.

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

}  // namespace shardlint::shell
