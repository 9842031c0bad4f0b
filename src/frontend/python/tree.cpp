#include "frontend/python/tree.h"

#include "base/strings.h"
#include "frontend/grammars/grammars.h"
#include "frontend/python/lower.h"

namespace shardlint::python {

Diagnostic python_problem(std::string_view code, Severity severity, std::string message,
                          const Span& where) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"PYT100", "python-unreadable"},    {"PYT101", "python-syntax"},
      {"PYT102", "python-too-deep"},      {"PYT103", "python-evaluation-limit"},
      {"PYT104", "recipe-always-raises"}, {"PYT105", "recipe-not-evaluated"},
      {"PYT110", "unexpected-argument"}};
  Diagnostic diagnostic;
  diagnostic.code = code;
  for (const auto& [known, name] : names) {
    if (known == code) {
      diagnostic.name = name;
    }
  }
  diagnostic.severity = severity;
  diagnostic.message = std::move(message);
  diagnostic.where = locate(where);
  return diagnostic;
}

Parsed read_syntax(const Source& source, Names& names) {
  Parsed parsed;
  const std::string_view text = source.text();
  const auto refuse = [&](std::string message, std::uint32_t at) {
    parsed.problems.push_back(
        python_problem("PYT100", Severity::error, std::move(message), {&source, at, at}));
  };
  if (text.size() > max_parsed_bytes) {
    refuse("larger than 4 MiB: not read", 0);
    return parsed;
  }
  if (const auto bad = invalid_utf8(text)) {
    refuse("not valid UTF-8", static_cast<std::uint32_t>(*bad));
    return parsed;
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    refuse("holds a NUL byte", static_cast<std::uint32_t>(nul));
    return parsed;
  }
  const Tree tree = parse_tree(Grammar::python, text);
  if (!tree) {
    refuse("could not be parsed", 0);
    return parsed;
  }
  parsed.syntax = std::make_unique<Syntax>(source);
  Lowering lowering(*parsed.syntax, names);
  parsed.syntax->set_root(lowering.file(ts_tree_root_node(tree.get())));
  if (lowering.too_many) {
    parsed.problems.push_back(
        python_problem("PYT102", Severity::warning, "too large to be evaluated", lowering.trouble));
  } else if (lowering.too_deep) {
    parsed.problems.push_back(python_problem(
        "PYT102", Severity::warning, "nested too deeply to be evaluated", lowering.trouble));
  } else if (lowering.trouble) {
    const Span first{&source, lowering.trouble.begin, lowering.trouble.begin};
    parsed.problems.push_back(python_problem(
        "PYT101", Severity::warning,
        "not understood as Python; what this statement could set is unknown", first));
  }
  return parsed;
}

}  // namespace shardlint::python
