#include "frontend/shell/edits.h"

#include <algorithm>

namespace shardlint::shell {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t';
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::any_of(text.begin(), text.end(), [](char c) {
           return !std::isalnum(static_cast<unsigned char>(c)) &&
                  std::string_view("_@%+=:,./-").find(c) == std::string_view::npos;
         });
}

// `text` as one word, or nothing when it cannot be written plainly. `quoted`: quotes are around
// the place already.
std::optional<std::string> as_word(std::string_view text, bool quoted) {
  if (!needs_quotes(text) || (quoted && text.find_first_of("\"'$`\\!") == std::string_view::npos)) {
    return std::string(text);
  }
  if (quoted || text.find('\'') != std::string_view::npos) {
    return std::nullopt;
  }
  return "'" + std::string(text) + "'";
}

// The one run of source that makes up the word, or null.
Span single_run(const Word& word) {
  Span out;
  for (const Piece& piece : word.pieces) {
    if (piece.unknown || !piece.verbatim || !piece.span ||
        (out && (piece.span.source != out.source || piece.span.begin != out.end))) {
      return {};
    }
    out = out ? Span{out.source, out.begin, piece.span.end} : piece.span;
  }
  return out;
}

bool in_quotes(const Word& word) {
  return !word.pieces.empty() && word.pieces.front().quoted;
}

Edits replace(const Span& where, std::string text) {
  return {Edit{locate(where), std::move(text)}};
}

Edits replace_value(const Word& value, std::string_view text) {
  const Span run = single_run(value);
  if (run) {
    const auto word = as_word(text, in_quotes(value));
    return word ? replace(run, *word) : Edits{};
  }
  // Put together from several places, or unknown: the argument as it stands is replaced.
  const auto word = as_word(text, false);
  if (!value.written || !word || value.written.begin == value.written.end) {
    return {};
  }
  return replace(value.written, *word);
}

struct Line {
  std::uint32_t begin, end;  // without the newline
};

Line line_around(const Source& source, std::uint32_t offset) {
  const std::uint32_t begin = source.line_begin(source.line_of(offset));
  const std::size_t end = source.text().find('\n', offset);
  return {begin, static_cast<std::uint32_t>(std::min(end, source.text().size()))};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (blank(text.front()) || text.front() == '\r')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (blank(text.back()) || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// Where a group of words (a flag and its values, an override) stands in the script.
struct Group {
  Span span;
  bool certain = false;
};

Group group_of(const std::vector<Word>& words, std::size_t first, std::size_t last) {
  Group out;
  out.span = words[first].written;
  out.certain =
      static_cast<bool>(out.span) && !words[first].conditional && out.span.begin < out.span.end;
  for (std::size_t i = first; i < last && out.certain; ++i) {
    const Span at = words[i].written;
    out.certain = at && at.source == out.span.source && at.begin >= out.span.begin &&
                  !words[i].conditional && (i == first || at.begin >= out.span.end);
    // Nothing but blanks and line breaks may stand between.
    if (out.certain && i > first) {
      const std::string_view between = out.span.source->text(out.span.end, at.begin);
      out.certain = between.find_first_not_of(" \t\r\n\\\"'") == std::string_view::npos;
    }
    out.span.end = std::max(out.span.end, at.end);
  }
  return out;
}

// Writes `text` behind a group: on a line of its own when the group has one.
Edits insert_after(const Group& group, const std::string& text) {
  const Source& source = *group.span.source;
  const Line line = line_around(source, group.span.begin);
  const Line last = line_around(source, group.span.end);
  const std::string_view before = source.text(line.begin, group.span.begin);
  std::string_view after = trimmed(source.text(group.span.end, last.end));
  const bool own_line = trimmed(before).empty();
  const std::string indent(before);
  const auto at = [&](std::uint32_t offset) { return Span{&source, offset, offset}; };
  const std::string newline =
      last.end > 0 && last.end < source.text().size() && source.text()[last.end - 1] == '\r'
          ? "\r\n"
          : "\n";
  std::uint32_t end = last.end;
  if (newline.size() == 2) {
    --end;
  }
  if (own_line && after == "\\") {
    return replace(at(end), newline + indent + text + " \\");
  }
  if (own_line && (after.empty() || after[0] == '#')) {
    // The last line of a command goes on only with a backslash.
    const bool continued =
        line.begin > 0 &&
        trimmed(source.text(line_around(source, line.begin - 1).begin, line.begin - 1))
            .ends_with("\\");
    if (!continued) {
      return replace(at(end), newline + indent + text);
    }
    if (after.empty()) {
      return replace(at(group.span.end), " \\" + newline + indent + text);
    }
  }
  return replace(at(group.span.end), " " + text);
}

// Takes a group out, and its lines when nothing else is on them.
Edits take_out(const Group& group) {
  const Source& source = *group.span.source;
  const Line first = line_around(source, group.span.begin);
  const Line last = line_around(source, group.span.end);
  const std::string_view before = source.text(first.begin, group.span.begin);
  const std::string_view after = trimmed(source.text(group.span.end, last.end));
  Span out = group.span;
  const bool more_lines = last.end < source.text().size();
  if (trimmed(before).empty() && (after == "\\" || after.empty()) && more_lines) {
    const bool previous_continues =
        first.begin > 0 &&
        trimmed(source.text(line_around(source, first.begin - 1).begin, first.begin - 1))
            .ends_with("\\");
    if (after == "\\" || !previous_continues) {
      out.begin = first.begin;
      out.end = last.end + 1;
      return replace(out, "");
    }
    // The end of a command: the line before then goes on to nowhere, so its backslash goes too.
    std::uint32_t end = first.begin - 1;
    const std::string_view text = source.text();
    while (end > 0 && (blank(text[end - 1]) || text[end - 1] == '\r')) {
      --end;
    }
    if (!more_lines || end == 0 || text[end - 1] != '\\') {
      return {};
    }
    --end;
    while (end > 0 && blank(text[end - 1])) {
      --end;
    }
    out.begin = end;
    return replace(out, "");
  }
  while (out.begin > first.begin && blank(source.text()[out.begin - 1])) {
    --out.begin;
  }
  if (out.begin == group.span.begin) {  // first of its line, or of an array: ( --a 1 ...
    while (out.end < last.end && blank(source.text()[out.end])) {
      ++out.end;
    }
  }
  return replace(out, "");
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < std::min(a.size(), b.size()) && a[n] == b[n]) {
    ++n;
  }
  return n;
}

bool is_flag(const Word& word) {
  const std::string text = word.text();
  return text.size() > 2 && text[0] == '-' && text[1] == '-';
}

// The words of the flag at `i`: up to the next flag.
std::size_t group_end(const std::vector<Word>& words, std::size_t i) {
  std::size_t end = i + 1;
  while (end < words.size() && !is_flag(words[end])) {
    ++end;
  }
  return end;
}

struct Found {
  std::size_t at = std::string::npos;
  bool joined = false;  // --flag=value
};

Found find_flag(const Launch& launch, std::string_view flag) {
  Found out;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const std::string text = launch.arguments[i].text();
    const bool joined = text.size() > flag.size() && text[flag.size()] == '=' &&
                        text.compare(0, flag.size(), flag) == 0;
    if (text == flag || joined) {
      out = {i, joined};
    }
  }
  return out;
}

std::string_view bare_key(std::string_view key) {
  while (!key.empty() && (key[0] == '+' || key[0] == '~')) {
    key.remove_prefix(1);
  }
  return key;
}

std::size_t find_override(const Launch& launch, std::string_view key) {
  std::size_t out = std::string::npos;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const std::string text = launch.arguments[i].text();
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos &&
        bare_key(std::string_view(text).substr(0, equals)) == bare_key(key)) {
      out = i;
    }
  }
  return out;
}

// Adds a word or two behind the group whose name is most alike.
Edits add_beside(const Launch& launch, std::string_view name, const std::string& text,
                 bool overrides) {
  std::size_t best_score = 0;
  std::optional<Group> best;
  const std::vector<Word>& words = launch.arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i].text();
    const bool right =
        overrides ? word.find('=') != std::string::npos && word[0] != '-' : is_flag(words[i]);
    if (!right || words[i].open) {
      continue;
    }
    const Group group = group_of(words, i, overrides ? i + 1 : group_end(words, i));
    const std::size_t score = 1 + common_prefix(bare_key(word), bare_key(name));
    if (group.certain && score >= best_score) {
      best = group;
      best_score = score;
    }
  }
  return best ? insert_after(*best, text) : Edits{};
}

const Environment* find_environment(const Launch& launch, std::string_view name) {
  for (const Environment& each : launch.environment) {
    if (each.name == name && !each.unset) {
      return &each;
    }
  }
  return nullptr;
}

// Whether the assignment is the only one of an export of its own; the statement's span then.
std::optional<Span> whole_statement(const Span& assignment) {
  const Source& source = *assignment.source;
  const Line line = line_around(source, assignment.begin);
  const std::string_view before = trimmed(source.text(line.begin, assignment.begin));
  const std::string_view after = trimmed(source.text(assignment.end, line.end));
  if ((before == "export" || before.empty() || before == "declare -x") &&
      (after.empty() || after[0] == '#') &&
      source.line_of(assignment.begin) == source.line_of(assignment.end)) {
    return Span{
        &source, line.begin,
        std::min<std::uint32_t>(line.end + 1, static_cast<std::uint32_t>(source.text().size()))};
  }
  return std::nullopt;
}

}  // namespace

Edits set_flag(const Launch& launch, std::string_view flag, std::optional<std::string> value) {
  const Found found = find_flag(launch, flag);
  if (found.at == std::string::npos) {
    if (!value) {
      return add_beside(launch, flag, std::string(flag), false);
    }
    const auto word = as_word(*value, false);
    return word ? add_beside(launch, flag, std::string(flag) + " " + *word, false) : Edits{};
  }
  if (launch.arguments[found.at].conditional || !value) {
    return {};
  }
  if (found.joined) {
    return replace_value(launch.arguments[found.at].slice(flag.size() + 1), *value);
  }
  if (group_end(launch.arguments, found.at) != found.at + 2 ||
      launch.arguments[found.at + 1].conditional) {
    return {};  // no value there, or several
  }
  return replace_value(launch.arguments[found.at + 1], *value);
}

Edits set_values(const Launch& launch, std::string_view flag,
                 const std::vector<std::string>& values) {
  std::string text(flag);
  for (const std::string& value : values) {
    const auto word = as_word(value, false);
    if (!word) {
      return {};
    }
    text += " " + *word;
  }
  const Found found = find_flag(launch, flag);
  if (found.at == std::string::npos) {
    return add_beside(launch, flag, text, false);
  }
  const Group group = group_of(launch.arguments, found.at, group_end(launch.arguments, found.at));
  return group.certain && !found.joined ? replace(group.span, text) : Edits{};
}

Edits remove_flag(const Launch& launch, std::string_view flag) {
  const Found found = find_flag(launch, flag);
  if (found.at == std::string::npos) {
    return {};
  }
  const Group group = group_of(launch.arguments, found.at,
                               found.joined ? found.at + 1 : group_end(launch.arguments, found.at));
  return group.certain ? take_out(group) : Edits{};
}

Edits set_override(const Launch& launch, std::string_view key, std::string_view value) {
  const std::size_t at = find_override(launch, key);
  if (at == std::string::npos) {
    const auto word = as_word(value, false);
    return word ? add_beside(launch, key, std::string(key) + "=" + *word, true) : Edits{};
  }
  const Word& word = launch.arguments[at];
  return word.conditional ? Edits{} : replace_value(word.slice(word.find('=') + 1), value);
}

Edits remove_override(const Launch& launch, std::string_view key) {
  const std::size_t at = find_override(launch, key);
  if (at == std::string::npos) {
    return {};
  }
  const Group group = group_of(launch.arguments, at, at + 1);
  return group.certain ? take_out(group) : Edits{};
}

Edits set_environment(const Launch& launch, std::string_view name, std::string_view value) {
  if (const Environment* found = find_environment(launch, name)) {
    if (found->exported) {
      return replace_value(found->value, value);
    }
    return {};
  }
  const auto word = as_word(value, false);
  if (!launch.span || !word) {
    return {};
  }
  // Behind the last export of the same file that stands on a line of its own, else before the
  // command.
  const Source& source = *launch.span.source;
  std::optional<Span> after;
  for (const Environment& each : launch.environment) {
    if (each.set_at && !each.prefix && each.exported && !each.unset &&
        each.set_at.source == &source && each.set_at.end <= launch.span.begin) {
      const Line line = line_around(source, each.set_at.begin);
      const std::string_view start = trimmed(source.text(line.begin, each.set_at.begin));
      const std::optional<Span> statement = whole_statement(each.set_at);
      if (start == "export" && statement && (!after || statement->begin > after->begin)) {
        after = statement;
      }
    }
  }
  const Line line = line_around(source, after ? after->begin : launch.span.begin);
  const std::string_view head = source.text(line.begin, after ? line.end : launch.span.begin);
  if (!after && !trimmed(head).empty()) {
    return {};
  }
  std::string indent;
  while (indent.size() < head.size() && blank(head[indent.size()])) {
    indent += head[indent.size()];
  }
  const std::uint32_t at = after ? after->end : line.begin;
  return replace({&source, at, at}, indent + "export " + std::string(name) + "=" + *word + "\n");
}

Edits remove_environment(const Launch& launch, std::string_view name) {
  const Environment* found = find_environment(launch, name);
  if (!found || !found->set_at || !found->exported) {
    return {};
  }
  const Span at = found->set_at;
  if (at.text().substr(0, name.size()) != name) {
    return {};  // set in some other way than NAME=value
  }
  if (!found->prefix) {
    if (const std::optional<Span> statement = whole_statement(at)) {
      return replace(*statement, "");
    }
  }
  Span out = at;
  const std::string_view text = at.source->text();
  while (out.end < text.size() && blank(text[out.end])) {
    ++out.end;
  }
  if (out.end == at.end) {
    while (out.begin > 0 && blank(text[out.begin - 1])) {
      --out.begin;
    }
  }
  return replace(out, "");
}

}  // namespace shardlint::shell
