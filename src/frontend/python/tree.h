#pragma once
// From the text of a Python file to its Syntax, through tree-sitter. Any bytes are survived.

#include <memory>
#include <vector>

#include "frontend/python/syntax.h"
#include "shardlint/diagnostic.h"

namespace shardlint::python {

struct Parsed {
  std::unique_ptr<Syntax> syntax;  // null when the file cannot be read at all
  std::vector<Diagnostic> problems;
};

// Guards: 4 MiB, valid UTF-8, no NUL byte, expressions and blocks nested at most 100 deep, 400,000
// nodes. A statement that does not parse becomes Tag::unread, with one PYT101 for the first.
Parsed read_syntax(const Source& source, Names& names);

// A finding about the text of a Python file; `code` is PYT1xx.
Diagnostic python_problem(std::string_view code, Severity severity, std::string message,
                          const Span& where);

}  // namespace shardlint::python
