// Parameters: $NAME, $1, ${NAME...} with every operator that launch scripts use.

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

constexpr std::size_t max_pattern_text = 8192;

Field field_of(Text text, const Span& written = {}) {
  Field field;
  field.text = std::move(text);
  field.written = written;
  return field;
}

// Always there where a job runs, and never ours to say.
bool set_by_machine(std::string_view name) {
  static constexpr std::string_view names[] = {
      "HOME",     "PWD",          "USER",          "HOSTNAME", "LOGNAME", "SHELL",
      "PATH",     "OLDPWD",       "TMPDIR",        "RANDOM",   "SECONDS", "BASHPID",
      "PPID",     "UID",          "EUID",          "LINENO",   "OSTYPE",  "HOSTTYPE",
      "MACHTYPE", "EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM",  "TERM"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

void mark(Parameter& value, std::uint8_t flag) {
  for (Field& field : value.fields) {
    for (Char& c : field.text.chars) {
      c.flags |= flag;
    }
    field.text.env_default = field.text.env_default || flag == Char::env_default;
  }
}

}  // namespace

// What the batch system sets from the script's own #SBATCH lines.
std::optional<std::string> Evaluator::from_headers(std::string_view name, Span& where) const {
  struct Row {
    std::string_view variable, option, short_option;
  };
  static constexpr Row rows[] = {{"SLURM_NNODES", "--nodes", "-N"},
                                 {"SLURM_JOB_NUM_NODES", "--nodes", "-N"},
                                 {"SLURM_NTASKS_PER_NODE", "--ntasks-per-node", ""},
                                 {"SLURM_NTASKS", "--ntasks", "-n"},
                                 {"SLURM_NPROCS", "--ntasks", "-n"},
                                 {"SLURM_GPUS_PER_NODE", "--gpus-per-node", ""},
                                 {"SLURM_CPUS_PER_TASK", "--cpus-per-task", "-c"},
                                 {"SLURM_JOB_NAME", "--job-name", "-J"},
                                 {"SLURM_JOB_PARTITION", "--partition", "-p"}};
  if (!headers_) {
    return std::nullopt;
  }
  for (const Row& row : rows) {
    if (row.variable != name) {
      continue;
    }
    for (const Header& header : *headers_) {
      const std::string option = header.option.text();
      if (option == row.option || (!row.short_option.empty() && option == row.short_option)) {
        where = header.value.span();
        return header.value.text();
      }
    }
  }
  return std::nullopt;
}

Parameter Evaluator::lookup(const std::string& name, const Span& where) {
  Parameter out;
  const auto found = state_.variables.find(name);
  if (found != state_.variables.end()) {
    const Variable& variable = *found->second;
    if (variable.unset) {
      return out;
    }
    out.set = true;
    out.fields = variable.values;
    if (variable.kind == Variable::Kind::scalar) {
      if (out.fields.empty()) {
        out.fields.emplace_back();
      }
    } else {
      out.list = true;
      // Of an array without a subscript: the first element.
      if (out.fields.size() > 1) {
        out.fields.resize(1);
      }
    }
    return out;
  }
  if (const auto given = options_.environment.find(name); given != options_.environment.end()) {
    out.set = true;
    out.fields.push_back(field_of(notes_.computed(given->second, {})));
    return out;
  }
  if (name == "BASH_SOURCE") {
    return special('0', where);
  }
  if (name == "FUNCNAME" || name == "DIRSTACK" || name == "PIPESTATUS" || name == "BASH_REMATCH") {
    out.set = true;
    out.fields.push_back(field_of(notes_.unknown(Reason::dynamic, "$" + name, where)));
    return out;
  }
  if (set_by_machine(name)) {
    out.set = true;
    const bool here = name == "PWD" && !state_.directory.empty();
    Text text = notes_.unknown(Reason::environment, "$" + name, where,
                               here ? state_.directory : std::string());
    notes_.never_empty();
    out.fields.push_back(field_of(std::move(text)));
    return out;
  }
  Span place;
  if (const auto value = from_headers(name, place)) {
    out.set = true;
    Text text = notes_.computed(*value, place);
    for (Char& c : text.chars) {
      c.flags |= Char::env_default;
    }
    text.env_default = true;
    out.fields.push_back(field_of(std::move(text), place));
    return out;
  }
  out.from_environment = true;
  return out;
}

Parameter Evaluator::special(char name, const Span& where) {
  Parameter out;
  out.set = true;
  const std::string shown = std::string("$") + name;
  switch (name) {
    case '@':
    case '*':
      out.list = true;
      out.joined = name == '*';
      if (state_.positional_known) {
        out.fields = state_.positional;
      } else if (!assume_) {
        Field field = field_of(notes_.unknown(Reason::argument, shown, where), where);
        field.open = true;
        out.fields.push_back(std::move(field));
      }
      return out;
    case '#':
      if (state_.positional_known || assume_) {
        const bool open = std::any_of(state_.positional.begin(), state_.positional.end(),
                                      [](const Field& f) { return f.open || f.conditional; });
        Text text =
            open ? notes_.unknown(Reason::argument, shown, where)
                 : notes_.computed(
                       std::to_string(state_.positional_known ? state_.positional.size() : 0),
                       where);
        out.fields.push_back(field_of(std::move(text)));
        return out;
      }
      out.fields.push_back(field_of(notes_.unknown(Reason::argument, shown, where)));
      return out;
    case '0': {
      const std::string path = script_->path;
      Text text = notes_.unknown(Reason::machine, "$0", where, path);
      notes_.never_empty();
      out.fields.push_back(field_of(std::move(text)));
      return out;
    }
    case '?':
      if (last_status_ == Truth::yes) {
        out.fields.push_back(field_of(notes_.computed("0", where)));
        return out;
      }
      [[fallthrough]];
    case '-':
    case '$':
    case '!': {
      out.fields.push_back(field_of(notes_.unknown(Reason::machine, shown, where)));
      notes_.never_empty();
      return out;
    }
    default:
      break;
  }
  const std::size_t index = static_cast<std::size_t>(name - '0');
  if (!state_.positional_known) {
    out.set = false;
    out.from_environment = true;
    return out;
  }
  for (std::size_t i = 0; i < std::min(index, state_.positional.size()); ++i) {
    if (state_.positional[i].open || state_.positional[i].conditional) {
      out.fields.push_back(field_of(notes_.unknown(Reason::argument, shown, where)));
      return out;
    }
  }
  if (index <= state_.positional.size()) {
    out.fields.push_back(state_.positional[index - 1]);
  } else {
    out.set = false;
  }
  return out;
}

Parameter Evaluator::subscript(Parameter value, const std::string& name, std::uint32_t begin,
                               std::uint32_t end, const Span& where) {
  const std::string_view key = script_->view(begin, end);
  const Variable* variable = state_.find(name);
  if (key == "@" || key == "*") {
    value.list = true;
    value.joined = key == "*";
    if (variable) {
      value.fields = variable->values;
      value.set = !value.fields.empty();
    } else if (value.from_environment && name != "BASH_SOURCE") {
      value = {};  // an array cannot come from the environment
      value.list = true;
      value.joined = key == "*";
    }
    return value;
  }
  value.list = false;
  if (!variable) {
    if (name == "BASH_SOURCE") {
      return value;
    }
    Parameter none;
    none.from_environment = value.from_environment && key == "0";
    return none;
  }
  value.fields.clear();
  value.set = true;
  if (variable->kind == Variable::Kind::map) {
    const Text wanted = expand_whole(begin, end);
    if (!wanted.known()) {
      value.fields.push_back(field_of(
          notes_.unknown(Reason::dynamic, "${" + name + "[" + std::string(key) + "]}", where)));
      return value;
    }
    const auto at = std::find(variable->keys.begin(), variable->keys.end(), wanted.plain());
    value.set = at != variable->keys.end();
    if (value.set) {
      const std::size_t i = static_cast<std::size_t>(at - variable->keys.begin());
      value.fields.push_back(i < variable->values.size() ? variable->values[i] : Field{});
    }
    return value;
  }
  const std::vector<Field> values = variable->values;
  std::optional<std::int64_t> index = arithmetic(expand_whole(begin, end), nullptr, nullptr);
  const bool fixed = std::none_of(values.begin(), values.end(), [](const Field& field) {
    return field.open || field.conditional;
  });
  if (!index || (!fixed && *index != 0)) {
    value.fields.push_back(field_of(
        notes_.unknown(Reason::dynamic, "${" + name + "[" + std::string(key) + "]}", where)));
    return value;
  }
  const std::int64_t count = static_cast<std::int64_t>(values.size());
  const std::int64_t at = *index < 0 ? *index + count : *index;
  value.set = at >= 0 && at < count;
  if (value.set) {
    value.fields.push_back(values[static_cast<std::size_t>(at)]);
  }
  return value;
}

// ${NAME-word}, ${NAME:-word} and =, +, ? likewise.
Parameter Evaluator::defaulted(Parameter value, const std::string& name, char op, bool colon,
                               std::uint32_t begin, std::uint32_t end, const Span& where,
                               bool quoted) {
  const auto operand = [&] {
    WordBuilder out;
    out.split = !quoted && op != '=';
    out.written = span(begin, end);
    ++depth_;
    if (depth_ < 140) {
      if (quoted) {
        // Inside double quotes the operand is read like the rest of them, but for inner quotes.
        const std::string_view text = script_->view(begin, end);
        if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
          expand_quoted(out, begin + 1, end - 1);
        } else if (text.find('"') != std::string_view::npos) {
          expand_range(out, begin, end, false);
        } else {
          expand_quoted(out, begin, end);
        }
        out.started = true;
      } else {
        expand_range(out, begin, end, true);
      }
    }
    --depth_;
    out.finish(notes_);
    Parameter made;
    made.set = true;
    made.fields = std::move(out.done);
    if (made.fields.empty()) {
      made.fields.emplace_back();
    }
    made.list = made.fields.size() > 1 || (made.fields.size() == 1 && made.fields[0].open);
    return made;
  };
  // An empty text, as far as it can be told: yes, no, or unknown.
  Truth empty = Truth::no;
  if (value.set && !value.list && value.fields.size() == 1) {
    const Text& text = value.fields.front().text;
    if (text.empty()) {
      empty = Truth::yes;
    } else if (std::all_of(text.chars.begin(), text.chars.end(), [&](const Char& c) {
                 return c.has(Char::conditional) ||
                        (c.has(Char::unknown) && !notes_.notes[c.note].unknown->not_null);
               })) {
      empty = Truth::unknown;
      // A positional parameter or variable that was not given, copied: V=$1; ${V:-8}.
      const std::shared_ptr<const Unknown> why = notes_.first_unknown(text);
      if (text.size() == 1 && why &&
          (why->reason == Reason::argument || why->reason == Reason::environment)) {
        value.from_environment = true;
        empty = Truth::yes;
      }
    }
  } else if (value.set && value.list) {
    empty = truth(value.fields.empty());
  }
  const bool from_environment =
      value.from_environment || (value.set && !value.fields.empty() &&
                                 value.fields.front().text.env_default && empty == Truth::yes);
  const Truth present = !value.set ? Truth::no : colon ? negated(empty) : Truth::yes;
  if (present == Truth::unknown) {
    Parameter out;
    out.set = true;
    out.fields.push_back(field_of(notes_.unknown(Reason::branch, "${" + name + "...}", where)));
    return out;
  }
  switch (op) {
    case '-':
    case '=': {
      if (present == Truth::yes) {
        return value;
      }
      Parameter out = operand();
      if (from_environment) {
        mark(out, Char::env_default);
      }
      if (op == '=' && is_name(name)) {
        Variable variable;
        variable.values = out.fields;
        variable.set_at = where;
        set_variable(name, std::move(variable));
      }
      return out;
    }
    case '+': {
      if (present == Truth::yes) {
        return operand();
      }
      Parameter out;
      out.set = true;
      out.fields.emplace_back();
      out.fields.back().text.env_default = from_environment;
      return out;
    }
    default:  // ?: the script stops without it, so it is there
      return value;
  }
}

Text Evaluator::trimmed(const Text& value, const Text& pattern, bool front, bool longest,
                        const Span& where) {
  if (value.size() > max_pattern_text || !pattern.known()) {
    return notes_.unknown(pattern.known() ? Reason::limit : Reason::dynamic,
                          std::string(where.text()), where);
  }
  const std::size_t size = value.size();
  for (std::size_t n = 0; n <= size; ++n) {
    const std::size_t length = longest ? size - n : n;
    const Text part = front ? value.slice(0, length) : value.slice(size - length, size);
    step();
    Truth hit = matches(pattern, part);
    if (hit == Truth::unknown && !part.empty()) {
      // A leading or trailing * takes whatever is unknown; only the known end decides.
      const bool star = !pattern.empty() &&
                        !pattern.chars[front ? 0 : pattern.size() - 1].has(Char::quoted) &&
                        pattern.chars[front ? 0 : pattern.size() - 1].c == '*';
      const Text rest =
          front ? pattern.slice(1, pattern.size()) : pattern.slice(0, pattern.size() - 1);
      const bool plain = std::none_of(rest.chars.begin(), rest.chars.end(), [](const Char& c) {
        return !c.has(Char::quoted) && (c.c == '*' || c.c == '?' || c.c == '[');
      });
      if (star && plain && rest.size() <= part.size()) {
        const Text end =
            front ? part.slice(part.size() - rest.size(), part.size()) : part.slice(0, rest.size());
        if (end.known()) {
          hit = truth(end.plain() == rest.plain());
        }
      }
    }
    if (hit == Truth::yes) {
      return front ? value.slice(length, size) : value.slice(0, size - length);
    }
    if (hit == Truth::unknown) {
      return notes_.unknown(Reason::dynamic, std::string(where.text()), where);
    }
  }
  return value;
}

Text Evaluator::replaced(const Text& value, const Text& pattern, const Text& with, bool all,
                         char anchor, const Span& where) {
  if (!value.known() || !pattern.known() || value.size() > max_pattern_text) {
    const std::shared_ptr<const Unknown> why = notes_.first_unknown(value);
    return notes_.unknown(why ? why->reason : Reason::dynamic, std::string(where.text()), where);
  }
  Text out;
  out.env_default = value.env_default;
  std::size_t i = 0;
  bool done = pattern.empty() && anchor == 0;
  while (i < value.size() || (i == 0 && value.empty())) {
    std::size_t length = 0;
    bool hit = false;
    if (!done && (anchor != '#' || i == 0)) {
      const std::size_t lowest = anchor == '%' ? value.size() - i : 0;
      for (std::size_t n = value.size() - i + 1; n-- > lowest && !hit;) {
        step();
        if (matches(pattern, value.slice(i, i + n)) == Truth::yes) {
          hit = n > 0 || anchor != 0;
          length = n;
        }
        if (stopped_) {
          return out;
        }
      }
    }
    if (hit) {
      out.append(with);
      done = !all;
      i += length;
      if (length == 0 && i < value.size()) {
        out.chars.push_back(value.chars[i++]);
      }
    } else if (i < value.size()) {
      out.chars.push_back(value.chars[i++]);
    }
    if (value.empty()) {
      break;
    }
  }
  return out;
}

// The operators that change a text: # ## % %% / // ^ ^^ , ,, @Q and :offset:length.
Text Evaluator::changed(const Text& value, std::string_view op, std::uint32_t begin,
                        std::uint32_t end, const Span& where) {
  if (op == "#" || op == "##" || op == "%" || op == "%%") {
    return trimmed(value, expand_whole(begin, end), op[0] == '#', op.size() == 2, where);
  }
  if (op[0] == '/') {
    const std::string_view text = std::string_view(script_->text).substr(0, end);
    std::uint32_t slash = begin;
    while (slash < end && text[slash] != '/') {
      if (text[slash] == '\\') {
        ++slash;
      } else if (text[slash] == '"') {
        slash = end_of_double_quote(text, slash + 1);
      } else if (text[slash] == '\'') {
        slash = static_cast<std::uint32_t>(std::min<std::size_t>(text.find('\'', slash + 1), end));
      } else if (text[slash] == '$' && slash + 1 < end && text[slash + 1] == '{') {
        slash = end_of_parameter(text, slash + 2);
      } else if (text[slash] == '$' && slash + 1 < end && text[slash + 1] == '(') {
        slash = end_of_command_substitution(text, slash + 2);
      }
      ++slash;
    }
    slash = std::min(slash, end);
    const Text with = slash < end ? expand_whole(slash + 1, end) : Text{};
    const char anchor = op == "/#" ? '#' : op == "/%" ? '%' : '\0';
    return replaced(value, expand_whole(begin, slash), with, op == "//", anchor, where);
  }
  if (op[0] == '^' || op[0] == ',') {
    Text out = value;
    for (std::size_t i = 0; i < out.size() && (op.size() == 2 || i == 0); ++i) {
      char& c = out.chars[i].c;
      c = static_cast<char>(op[0] == '^' ? std::toupper(static_cast<unsigned char>(c))
                                         : std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
  }
  if (op == ":") {
    const std::string_view text = script_->view(begin, end);
    std::size_t colon = std::string_view::npos;
    int open = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      open += text[i] == '(' || text[i] == '{' || text[i] == '[' ? 1 : 0;
      open -= text[i] == ')' || text[i] == '}' || text[i] == ']' ? 1 : 0;
      if (text[i] == ':' && open == 0) {
        colon = i;
        break;
      }
    }
    const std::uint32_t middle =
        colon == std::string_view::npos ? end : begin + static_cast<std::uint32_t>(colon);
    const auto offset = arithmetic(expand_whole(begin, middle), nullptr, nullptr);
    std::optional<std::int64_t> length;
    if (middle < end) {
      length = arithmetic(expand_whole(middle + 1, end), nullptr, nullptr);
    }
    const std::int64_t size = static_cast<std::int64_t>(value.size());
    if (!value.known() || !offset || (middle < end && !length)) {
      return notes_.unknown(Reason::dynamic, std::string(where.text()), where);
    }
    const std::int64_t from =
        std::clamp<std::int64_t>(*offset < 0 ? *offset + size : *offset, 0, size);
    std::int64_t to = size;
    if (length) {
      to = *length < 0 ? size + *length : from + std::min(*length, size);
    }
    return value.slice(static_cast<std::size_t>(from),
                       static_cast<std::size_t>(std::clamp<std::int64_t>(to, from, size)));
  }
  if (op == "@Q") {
    Text out;
    Char quote{'\'', Char::nowhere, 0, 0, 0};
    out.chars.push_back(quote);
    for (const Char& c : value.chars) {
      if (c.c == '\'') {
        for (const char escape : std::string_view("'\\'")) {
          out.chars.push_back(Char{escape, Char::nowhere, 0, 0, 0});
        }
      }
      out.chars.push_back(c);
    }
    out.chars.push_back(quote);
    return out;
  }
  return notes_.unknown(Reason::dynamic, std::string(where.text()), where);
}

// A parameter as a word uses it. One that is not given: empty in a test, unknown in a word.
Parameter Evaluator::given(const Parameter& value, const std::string& name, const Span& where) {
  if (value.set || value.list) {
    return value;
  }
  Parameter out;
  out.set = true;
  if (!value.from_environment || assume_) {
    out.fields.emplace_back();
    out.fields.back().text.env_default = value.from_environment;
    return out;
  }
  const Reason reason = is_name(name) ? Reason::environment : Reason::argument;
  Field field;
  field.text = notes_.unknown(reason, "$" + name, where);
  out.fields.push_back(std::move(field));
  return out;
}

// What stands in ${...}, from `begin` to `end`.
Parameter Evaluator::parameter(std::uint32_t begin, std::uint32_t end, const Span& where,
                               bool quoted) {
  const std::string_view text = std::string_view(script_->text).substr(0, end);
  std::uint32_t i = begin;
  const auto at = [&](std::uint32_t k) { return k < end ? text[k] : '\0'; };
  const bool length = at(i) == '#' && i + 1 < end;
  const bool indirect = at(i) == '!' && i + 1 < end;
  i += length || indirect ? 1 : 0;
  std::string name;
  Parameter value;
  const std::size_t letters = name_length(text.substr(std::min<std::size_t>(i, text.size())));
  if (letters > 0) {
    name = std::string(text.substr(i, letters));
    i += static_cast<std::uint32_t>(letters);
    value = lookup(name, where);
  } else if (std::isdigit(static_cast<unsigned char>(at(i)))) {
    const std::uint32_t first = i;
    while (std::isdigit(static_cast<unsigned char>(at(i)))) {
      ++i;
    }
    name = std::string(text.substr(first, i - first));
    if (name.size() == 1) {
      value = special(name[0], where);
    } else if (state_.positional_known && name.size() < 4 &&
               std::stoul(name) <= state_.positional.size()) {
      value.set = true;
      value.fields.push_back(state_.positional[std::stoul(name) - 1]);
    } else {
      value.from_environment = !state_.positional_known;
    }
  } else if (i < end && std::string_view("@*#?-$!").find(at(i)) != std::string_view::npos) {
    name = std::string(1, at(i));
    value = special(at(i), where);
    ++i;
  } else {
    report("SHL101", "script-syntax", Severity::warning, Verdict::unknown,
           "bad substitution " + std::string(where.text()), where);
    value.set = true;
    value.fields.push_back(field_of(notes_.unknown(Reason::dynamic, "${...}", where)));
    return value;
  }
  const bool positional = !name.empty() && !is_name(name);
  bool whole_list = value.list && positional;
  bool keys = false;
  if (at(i) == '[') {
    std::uint32_t close = i + 1;
    int open = 0;
    while (close < end && (text[close] != ']' || open > 0)) {
      open += text[close] == '[' ? 1 : 0;
      open -= text[close] == ']' ? 1 : 0;
      ++close;
    }
    const std::string_view key = text.substr(i + 1, close - i - 1);
    keys = indirect && (key == "@" || key == "*");
    whole_list = key == "@" || key == "*";
    value = subscript(std::move(value), name, i + 1, close, where);
    i = std::min(close + 1, end);
  } else if (value.list && !positional) {
    value.list = false;  // an array without a subscript
    value.set = !value.fields.empty();
  }
  if (keys) {
    Parameter out;
    out.set = true;
    out.list = true;
    const Variable* variable = state_.find(name);
    for (std::size_t k = 0; variable && k < variable->values.size(); ++k) {
      const bool map = variable->kind == Variable::Kind::map;
      out.fields.push_back(field_of(notes_.computed(
          map && k < variable->keys.size() ? variable->keys[k] : std::to_string(k), where)));
    }
    return out;
  }
  if (indirect) {
    const Text target = value.fields.empty() ? Text{} : value.fields.front().text;
    if (!target.known() || !is_name(target.plain())) {
      Parameter out;
      out.set = true;
      out.fields.push_back(
          field_of(notes_.unknown(Reason::dynamic, std::string(where.text()), where)));
      return out;
    }
    name = target.plain();
    value = lookup(name, where);
    value.list = false;
  }
  if (length) {
    Parameter out;
    out.set = true;
    const bool fixed = std::none_of(value.fields.begin(), value.fields.end(),
                                    [](const Field& f) { return f.open || f.conditional; });
    if (whole_list) {
      out.fields.push_back(
          field_of(fixed ? notes_.computed(std::to_string(value.fields.size()), where)
                         : notes_.unknown(Reason::branch, std::string(where.text()), where)));
    } else {
      const Text text_value = value.fields.empty() ? Text{} : value.fields.front().text;
      const bool known = text_value.known() && !(value.from_environment && !assume_);
      out.fields.push_back(
          field_of(known ? notes_.computed(std::to_string(text_value.size()), where)
                         : notes_.unknown(Reason::environment, std::string(where.text()), where)));
    }
    return out;
  }
  const auto plain_value = [&] { return given(value, name, where); };
  if (i >= end) {
    return plain_value();
  }
  const bool colon = at(i) == ':' && i + 1 < end &&
                     std::string_view("-=+?").find(at(i + 1)) != std::string_view::npos;
  const char op = at(colon ? i + 1 : i);
  if (colon || std::string_view("-=+?").find(op) != std::string_view::npos) {
    const std::uint32_t from = i + (colon ? 2 : 1);
    return defaulted(std::move(value), name, op, colon, std::min(from, end), end, where, quoted);
  }
  std::uint32_t op_length = 1;
  if ((op == '#' || op == '%' || op == '/' || op == '^' || op == ',') && at(i + 1) == op) {
    op_length = 2;
  } else if (op == '/' && (at(i + 1) == '#' || at(i + 1) == '%')) {
    op_length = 2;
  } else if (op == '@') {
    op_length = end - i;
  }
  const std::string_view operation = text.substr(i, op_length);
  Parameter out = plain_value();
  if (operation == ":" && whole_list) {
    // ${A[@]:offset:length} and ${@:offset:length}, by elements.
    std::uint32_t colon_at = i + 1;
    while (colon_at < end && text[colon_at] != ':') {
      ++colon_at;
    }
    const auto offset = arithmetic(expand_whole(i + 1, colon_at), nullptr, nullptr);
    const auto count = colon_at < end
                           ? arithmetic(expand_whole(colon_at + 1, end), nullptr, nullptr)
                           : std::optional<std::int64_t>(max_pattern_text * 8);
    if (!offset || !count || *offset < 0 || *count < 0) {
      out.fields = {field_of(notes_.unknown(Reason::dynamic, std::string(where.text()), where))};
      return out;
    }
    std::size_t from = static_cast<std::size_t>(*offset);
    if (positional) {
      from = from > 0 ? from - 1 : 0;
    }
    std::vector<Field> part;
    for (std::size_t k = from; k < out.fields.size() && k - from < static_cast<std::size_t>(*count);
         ++k) {
      part.push_back(out.fields[k]);
    }
    if (positional && !state_.positional_known && !assume_) {
      return out;  // whatever was given
    }
    out.fields = std::move(part);
    return out;
  }
  for (Field& field : out.fields) {
    field.text =
        changed(field.text, operation, i + op_length > end ? end : i + op_length, end, where);
  }
  return out;
}

}  // namespace shardlint::shell
