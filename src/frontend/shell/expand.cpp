// Words: quotes, expansions, splitting. Every word is scanned by hand.

#include <algorithm>

#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

constexpr std::size_t max_text = 1u << 20;
constexpr std::size_t max_fields = 1u << 16;

// A word that bash replaces by the files it matches. Without a path in it a star is more likely
// meant for the program (a layer pattern), and then stays as it is.
bool is_file_pattern(const std::vector<Char>& chars) {
  bool star = false, path = false;
  for (const Char& c : chars) {
    if (c.has(Char::unknown)) {
      continue;
    }
    if (c.c == '=' && !star) {
      return false;  // key=/data/*: no file has such a name
    }
    star = star || ((c.c == '*' || c.c == '?') && !c.has(Char::quoted));
    path = path || c.c == '/' || c.c == '.';
  }
  return star && path;
}

// How a text was quoted where it was written is forgotten when it is expanded.
void requote(Char& c, bool quoted) {
  c.flags = static_cast<std::uint8_t>(quoted ? c.flags | Char::quoted : c.flags & ~Char::quoted);
}

}  // namespace

void WordBuilder::finish(Notes& notes) {
  if (!started) {
    return;
  }
  const std::vector<Char>& chars = current.text.chars;
  if (!chars.empty() && from_expansion) {
    const bool all =
        std::all_of(chars.begin(), chars.end(), [](const Char& c) { return c.has(Char::unknown); });
    const bool some = std::any_of(chars.begin(), chars.end(), [&](const Char& c) {
      return c.has(Char::unknown) && !c.has(Char::quoted) && !notes.notes[c.note].unknown->not_null;
    });
    current.open = current.open || (all && some);
    if (!current.written) {
      current.written = notes.hull(current.text);
      current.cut_out = true;
    }
  }
  if (!current.written) {
    current.written = written;
  }
  if (split && is_file_pattern(chars)) {
    current.text = notes.unknown(Reason::machine, current.text.plain(), current.written);
    current.open = true;
  }
  if (done.size() < max_fields) {
    done.push_back(std::move(current));
  }
  current = {};
  started = false;
  from_expansion = true;
}

// The characters of IFS: those of the shell where it is not set or not known.
std::string Evaluator::separators() const {
  const auto found = state_.variables.find("IFS");
  const Variable* ifs = found == state_.variables.end() ? nullptr : found->second.get();
  if (!ifs || ifs->unset || (!ifs->values.empty() && !ifs->values.front().text.known())) {
    return " \t\n";
  }
  return ifs->values.empty() ? std::string() : ifs->values.front().text.plain();
}

// The text of an expansion: inside quotes it stays together, outside it is cut at blanks.
void Evaluator::put(WordBuilder& out, const Text& value, bool quoted) {
  if (out.current.text.size() + value.size() > max_text) {
    limit("a text grows too large to be followed", out.written);
    out.started = true;
    out.current.text = notes_.unknown(Reason::limit, "a text that is too large", out.written);
    return;
  }
  step(value.size() / 64);
  if (quoted || !out.split) {
    out.current.text.append(value);
    for (std::size_t i = out.current.text.size() - value.size(); i < out.current.text.size(); ++i) {
      requote(out.current.text.chars[i], quoted);
    }
    out.started = true;
    out.from_expansion = out.from_expansion && !quoted;
    return;
  }
  const std::string cuts = separators();
  for (const Char& c : value.chars) {
    if (!c.has(Char::unknown) && cuts.find(c.c) != std::string::npos) {
      out.started = out.started || std::string_view(" \t\n").find(c.c) == std::string_view::npos;
      out.finish(notes_);
      continue;
    }
    out.current.text.chars.push_back(c);
    requote(out.current.text.chars.back(), false);
    out.started = true;
  }
  out.current.text.env_default = out.current.text.env_default || value.env_default;
}

// "${A[@]}": the first element joins what stands before, the last what follows.
void Evaluator::put_list(WordBuilder& out, const std::vector<Field>& fields, bool quoted) {
  out.had_list = true;
  if (!out.split) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) {
        out.current.text.chars.push_back(Char{' ', Char::nowhere, 0, 0, 0});
      }
      Text text = fields[i].text;
      for (Char& c : text.chars) {
        c.flags |= fields[i].conditional ? Char::conditional : 0;
      }
      put(out, text, quoted);
    }
    return;
  }
  for (std::size_t i = 0; i < fields.size() && !stopped_; ++i) {
    if (i > 0) {
      out.finish(notes_);
    }
    const Field& field = fields[i];
    step();
    if (!quoted && !field.open) {
      const std::size_t before = out.done.size();
      const bool alone = !out.started;
      put(out, field.text, false);
      if (alone && out.started && out.done.size() == before) {
        out.current.written = field.written;  // not cut: the element as the array holds it
      }
      for (std::size_t k = before; k < out.done.size(); ++k) {
        out.done[k].conditional = out.done[k].conditional || field.conditional;
        out.done[k].condition = field.condition;
      }
    } else if (!out.started) {
      out.current = field;
      out.started = true;
      out.from_expansion = false;
      for (Char& c : out.current.text.chars) {
        c.flags |= quoted ? Char::quoted : 0;
      }
    } else {
      put(out, field.text, true);
    }
    if (field.conditional) {
      out.current.conditional = true;
      out.current.condition = field.condition;
    }
  }
}

void Evaluator::put_parameter(WordBuilder& out, const Parameter& value, bool quoted) {
  if (value.list && !(value.joined && quoted)) {
    put_list(out, value.fields, quoted);
    return;
  }
  if (value.list) {  // "$*": what stands between comes from IFS
    const std::string between = separators().substr(0, 1);
    for (std::size_t i = 0; i < value.fields.size() && !stopped_; ++i) {
      WordBuilder one;
      one.split = false;
      put_list(one, {value.fields[i]}, true);
      if (i > 0 && !between.empty()) {
        Text text;
        text.chars.push_back(Char{between[0], Char::nowhere, 0, 0, 0});
        put(out, text, true);
      }
      put(out, one.current.text, quoted);
    }
    out.started = true;
    return;
  }
  if (!value.fields.empty()) {
    put(out, value.fields.front().text, quoted);
    out.current.open = out.current.open || (value.fields.front().open && !quoted);
  } else if (quoted) {
    out.started = true;
  }
}

std::uint32_t Evaluator::expand_dollar(WordBuilder& out, std::uint32_t at, std::uint32_t end,
                                       bool quoted) {
  const std::string_view text = std::string_view(script_->text).substr(0, end);
  const char next = at + 1 < end ? text[at + 1] : '\0';
  if (next == '(') {
    if (at + 2 < end && text[at + 2] == '(') {
      const std::size_t close = end_of_arithmetic(text, at + 3);
      if (close != std::string_view::npos) {
        const std::uint32_t stop = static_cast<std::uint32_t>(close) + 2;
        put(out, arithmetic_text(at + 3, static_cast<std::uint32_t>(close), span(at, stop)),
            quoted);
        return stop;
      }
    }
    const std::uint32_t close = end_of_command_substitution(text, at + 2);
    const std::uint32_t stop = std::min(close + 1, end);
    put(out, substitution(at + 2, close, span(at, stop), false), quoted);
    return stop;
  }
  if (next == '{') {
    const std::uint32_t close = end_of_parameter(text, at + 2);
    const std::uint32_t stop = std::min(close + 1, end);
    put_parameter(out, parameter(at + 2, close, span(at, stop), quoted), quoted);
    return stop;
  }
  const std::size_t name = name_length(text.substr(std::min<std::size_t>(at + 1, text.size())));
  if (name > 0) {
    const std::uint32_t stop = at + 1 + static_cast<std::uint32_t>(name);
    const Span where = span(at, stop);
    const std::string variable(text.substr(at + 1, name));
    Parameter value = lookup(variable, where);
    value.list = false;  // $A of an array: its first element
    put_parameter(out, given(value, variable, where), quoted);
    return stop;
  }
  if (next != '\0' && std::string_view("@*#?-$!0123456789").find(next) != std::string_view::npos) {
    const Span where = span(at, at + 2);
    put_parameter(out, given(special(next, where), std::string(1, next), where), quoted);
    return at + 2;
  }
  if ((next == '\'' || next == '"') && !quoted) {
    return at + 1;  // $'...' and $"...": the caller reads the quotes
  }
  out.current.text.append(script_->cut(at, at + 1, quoted ? Char::quoted : 0));
  out.started = true;
  out.from_expansion = false;
  return at + 1;
}

// What stands between double quotes, or in a here-document.
void Evaluator::expand_quoted(WordBuilder& out, std::uint32_t begin, std::uint32_t end, bool here) {
  const std::string_view text = std::string_view(script_->text).substr(0, end);
  std::uint32_t i = begin;
  while (i < end && !stopped_) {
    const char c = text[i];
    if (c == '\\' && i + 1 < end) {
      const char next = text[i + 1];
      if (next == '\n') {
        i += 2;
        continue;
      }
      if (next == '$' || next == '`' || next == '\\' || (next == '"' && !here)) {
        ++i;
      }
    } else if (c == '$') {
      i = expand_dollar(out, i, end, true);
      continue;
    } else if (c == '`') {
      const std::uint32_t close = end_of_backtick(text, i + 1);
      const std::uint32_t stop = std::min(close + 1, end);
      put(out, substitution(i + 1, close, span(i, stop), true), true);
      i = stop;
      continue;
    }
    out.current.text.chars.push_back(script_->at(i));
    out.current.text.chars.back().flags |= Char::quoted;
    out.started = true;
    out.from_expansion = false;
    ++i;
  }
}

namespace {

// $'...': the character that an escape stands for, and how long the escape is.
std::pair<char, std::uint32_t> ansi_escape(std::string_view text) {
  static constexpr std::string_view from = "abefnrtv\\'\"?", to = "\a\b\x1b\f\n\r\t\v\\'\"?";
  if (text.size() < 2) {
    return {'\\', 1};
  }
  const std::size_t found = from.find(text[1]);
  if (found != std::string_view::npos) {
    return {to[found], 2};
  }
  const bool hex = text[1] == 'x';
  if (!hex && (text[1] < '0' || text[1] > '7')) {
    return {'\\', 1};
  }
  int value = 0;
  std::uint32_t i = hex ? 2 : 1;
  const std::uint32_t stop = hex ? 4 : 4;
  for (; i < stop && i < text.size(); ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'          ? c - '0'
                      : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : 99;
    if (digit >= (hex ? 16 : 8)) {
      break;
    }
    value = value * (hex ? 16 : 8) + digit;
  }
  return {static_cast<char>(value), i};
}

}  // namespace

void Evaluator::expand_range(WordBuilder& out, std::uint32_t begin, std::uint32_t end,
                             bool assignment) {
  const std::string_view text = std::string_view(script_->text).substr(0, end);
  std::uint32_t i = begin;
  bool tilde = true;
  const auto literal = [&](std::uint32_t at, std::uint8_t flags) {
    out.current.text.chars.push_back(script_->at(at));
    out.current.text.chars.back().flags |= flags;
    out.started = true;
    out.from_expansion = false;
  };
  while (i < end && !stopped_) {
    const char c = text[i];
    const bool tilde_here = tilde;
    tilde = false;
    if (c == '\\') {
      if (i + 1 < end && text[i + 1] != '\n') {
        literal(i + 1, Char::quoted);
      }
      i += 2;
    } else if (c == '\'') {
      const std::uint32_t close =
          static_cast<std::uint32_t>(std::min<std::size_t>(text.find('\'', i + 1), end));
      for (++i; i < close; ++i) {
        literal(i, Char::quoted);
      }
      out.started = true;
      out.from_expansion = false;
      i = close + 1;
    } else if (c == '$' && i + 1 < end && text[i + 1] == '\'') {
      i += 2;
      out.started = true;
      out.from_expansion = false;
      while (i < end && text[i] != '\'') {
        if (text[i] == '\\') {
          const auto [made, length] = ansi_escape(text.substr(i));
          Char change = script_->at(i);
          change.c = made;
          change.flags |= Char::quoted;
          out.current.text.chars.push_back(change);
          i += length;
        } else {
          literal(i++, Char::quoted);
        }
      }
      ++i;
    } else if (c == '"') {
      const std::uint32_t close = end_of_double_quote(text, i + 1);
      out.had_list = false;
      const bool before = out.started;
      const std::size_t fields = out.done.size(), size = out.current.text.size();
      expand_quoted(out, i + 1, close);
      const bool empty = fields == out.done.size() && size == out.current.text.size();
      if (!out.had_list || !empty || before) {
        out.started = out.started || !out.had_list;
      }
      if (!empty || !out.had_list) {
        out.from_expansion = false;
      }
      i = close + 1;
    } else if (c == '$') {
      i = std::max(expand_dollar(out, i, end, false), i + 1);
    } else if (c == '`') {
      const std::uint32_t close = end_of_backtick(text, i + 1);
      const std::uint32_t stop = std::min(close + 1, end);
      put(out, substitution(i + 1, close, span(i, stop), true), false);
      i = stop;
    } else if ((c == '<' || c == '>') && i + 1 < end && text[i + 1] == '(') {
      const std::uint32_t stop = std::min(end_of_command_substitution(text, i + 2) + 1, end);
      put(out, unknown(Reason::command, i, stop), true);
      i = stop;
    } else if (c == '~' && tilde_here && (i + 1 == end || text[i + 1] == '/')) {
      put(out, unknown(Reason::environment, i, i + 1), true);
      ++i;
    } else {
      tilde = assignment && (c == '=' || c == ':');
      const Char here = script_->at(i);
      if (here.has(Char::unknown)) {  // in a text that is read again
        Text one;
        one.chars.push_back(here);
        put(out, one, false);
        ++i;
      } else {
        literal(i++, 0);
      }
    }
  }
}

std::vector<Field> Evaluator::expand_words(const Tokenized& tokens, std::size_t from) {
  std::vector<Field> out;
  for (std::size_t i = from; i < tokens.size(); ++i) {
    if (tokens[i].kind == Token::Kind::redirect || tokens[i].kind == Token::Kind::control) {
      continue;
    }
    for (Field& field : expand_word(tokens[i])) {
      if (out.size() < max_fields) {
        out.push_back(std::move(field));
      }
    }
  }
  return out;
}

Text Evaluator::expand_whole(std::uint32_t begin, std::uint32_t end, bool assignment) {
  WordBuilder out;
  out.split = false;
  out.written = span(begin, end);
  if (!step() || depth_ > 150) {
    return {};
  }
  ++depth_;
  expand_range(out, begin, end, assignment);
  --depth_;
  return std::move(out.current.text);
}

Text Evaluator::substitution(std::uint32_t begin, std::uint32_t end, const Span& where,
                             bool backtick) {
  const std::string shown = std::string(backtick ? "`" : "$(") +
                            std::string(script_->view(begin, end)) + (backtick ? "`" : ")");
  if (depth_ > 100 || !step(4)) {
    return notes_.unknown(Reason::limit, shown, where);
  }
  Text origin = script_->cut(begin, end, 0);
  if (backtick) {
    Text plain;
    for (std::size_t i = 0; i < origin.size(); ++i) {
      const bool escape =
          origin.chars[i].c == '\\' && i + 1 < origin.size() &&
          std::string_view("$`\\").find(origin.chars[i + 1].c) != std::string_view::npos;
      plain.chars.push_back(origin.chars[escape ? ++i : i]);
    }
    origin = std::move(plain);
  }
  for (Char& c : origin.chars) {  // quoting inside counts afresh
    c.flags &= static_cast<std::uint8_t>(~Char::quoted);
  }
  std::string text = origin.plain();
  Script& script = new_script(std::move(text), std::move(origin), nullptr, script_->path);
  const State before = state_;
  Capture* const outer = capture_;
  const Flow flow = flow_;
  const bool assume = assume_;
  Capture capture;
  capture_ = &capture;
  assume_ = false;
  run_script(script);
  assume_ = assume;
  capture_ = outer;
  flow_ = flow;
  state_ = before;
  environment_changed_ = true;
  if (capture.unknown) {
    return notes_.unknown(Reason::command, shown, where);
  }
  Text out = std::move(capture.text);
  while (!out.empty() && out.chars.back().c == '\n') {
    out.chars.pop_back();
  }
  return out;
}

}  // namespace shardlint::shell
