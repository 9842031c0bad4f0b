// Parameters: $NAME, $1, $@, ${NAME[key]}; what is not given, and what the machine sets.

#include <algorithm>
#include <cctype>

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
  const VariablePtr variable = state_.hold(name);
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
      if (!absent_source_.empty() && !assume_) {
        Field field = field_of(notes_.unknown(Reason::sourced, absent_source_, where), where);
        field.open = true;
        value.set = true;
        value.fields.push_back(std::move(field));
      }
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
