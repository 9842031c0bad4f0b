// ${NAME op word}: defaults, trimming, replacing, changes of case, parts.

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

void mark(Parameter& value, std::uint8_t flag) {
  for (Field& field : value.fields) {
    for (Char& c : field.text.chars) {
      c.flags |= flag;
    }
    field.text.env_default = field.text.env_default || flag == Char::env_default;
  }
}

}  // namespace

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

}  // namespace shardlint::shell
