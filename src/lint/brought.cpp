#include "lint/brought.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace shardlint {
namespace {

bool inside(const Span& span, const Span& outer) {
  return span.source == outer.source && outer.begin <= span.begin && span.end <= outer.end;
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The NAME of `NAME=value` or `NAME="value"` that the span is the value of, or empty.
std::string_view assigned_name(const Span& value) {
  std::string_view before = value.source->text().substr(0, value.begin);
  if (before.ends_with('"') || before.ends_with('\'')) {
    before.remove_suffix(1);
  }
  if (!before.ends_with('=')) {
    return {};
  }
  before.remove_suffix(before.ends_with("+=") ? 2 : 1);
  std::size_t begin = before.size();
  while (begin > 0 && in_name(before[begin - 1])) {
    --begin;
  }
  const std::string_view name = before.substr(begin);
  const bool starts_word = begin == 0 ||
                           std::isspace(static_cast<unsigned char>(before[begin - 1])) ||
                           before[begin - 1] == ';' || before[begin - 1] == '(';
  return name.empty() || !starts_word || std::isdigit(static_cast<unsigned char>(name.front()))
             ? std::string_view()
             : name;
}

// The NAME of `${NAME:-value}` that the span is the value of, or empty.
std::string_view defaulted_name(const Span& value) {
  std::string_view before = value.source->text().substr(0, value.begin);
  if (!before.ends_with('-') && !before.ends_with('=')) {
    return {};
  }
  before.remove_suffix(before.ends_with(":-") || before.ends_with(":=") ? 2 : 1);
  std::size_t begin = before.size();
  while (begin > 0 && in_name(before[begin - 1])) {
    --begin;
  }
  return before.substr(0, begin).ends_with("${") ? before.substr(begin) : std::string_view();
}

std::string label_of(const Piece& piece) {
  if (const std::string_view name = defaulted_name(piece.span); !name.empty()) {
    return fmt::format("`{}` is `{}` by default here", name, piece.text);
  }
  const std::string_view name = assigned_name(piece.span);
  return name.empty() ? fmt::format("`{}` is written here", piece.text)
                      : fmt::format("`{}` is set to `{}` here", name, piece.text);
}

void collect(const Word& word, const std::string& instance, std::vector<BroughtValue>& into) {
  constexpr std::size_t longest = 120;  // a label is read; a whole command in a variable is not
  for (const Piece& piece : word.pieces) {
    if (word.written && piece.span && !piece.unknown && !piece.text.empty() &&
        piece.text.size() <= longest && !inside(piece.span, word.written)) {
      into.push_back({instance, locate(word.written), locate(piece.span), label_of(piece)});
    }
  }
}

bool shown(const Diagnostic& d, const Location& where) {
  return d.where == where || std::any_of(d.related.begin(), d.related.end(),
                                         [&](const Note& note) { return note.where == where; });
}

// The instance may name a role besides the launch: "command 2, actor".
bool is_of(const Diagnostic& d, const BroughtValue& value) {
  return value.instance.empty() || d.instance.starts_with(value.instance);
}

}  // namespace

std::vector<BroughtValue> brought_values(const shell::Launch& launch) {
  std::vector<BroughtValue> out;
  for (const Word& word : launch.arguments) {
    collect(word, launch.instance, out);
  }
  for (const Word& word : launch.launcher) {
    collect(word, launch.instance, out);
  }
  for (const shell::Environment& each : launch.environment) {
    collect(each.value, launch.instance, out);
  }
  return out;
}

void add_brought(std::vector<Diagnostic>& diagnostics, const std::vector<BroughtValue>& values) {
  constexpr std::size_t enough = 4;
  if (values.empty()) {
    return;
  }
  for (Diagnostic& d : diagnostics) {
    const std::size_t own = d.related.size();
    for (std::size_t i = 0; i <= own; ++i) {  // the finding's place, then the related ones
      const Location use = i == 0 ? d.where : d.related[i - 1].where;
      for (const BroughtValue& value : values) {
        if (value.use == use && is_of(d, value) && d.related.size() < own + enough &&
            !shown(d, value.written)) {
          d.related.push_back({value.written, value.label});
        }
      }
    }
  }
}

}  // namespace shardlint
