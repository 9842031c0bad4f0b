"""Statements of Python text, by line and by their normalised form. Nothing is executed.

Two statements are the same when their syntax trees are: layout, comments and quotes do not count.
Of a compound statement only the header counts."""
import ast
import collections
import hashlib

Statement = collections.namedtuple(
    "Statement", "function line end kind text condition words")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def header(node):
    """The statement without the statements inside it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"def {node.name}({ast.unparse(node.args)})"
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, (ast.If, ast.While)):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return "with " + ", ".join(ast.unparse(item) for item in node.items)
    if isinstance(node, ast.Try):
        return "try"
    return ast.unparse(node)


def words_of(node):
    """The literal text of a statement: of a message, without its placeholders."""
    return " ".join(c.value for c in ast.walk(node)
                    if isinstance(c, ast.Constant) and isinstance(c.value, str))


class Statements:
    """Those of one file."""

    def __init__(self, text):
        self.all = []
        self._walk(ast.parse(text).body, "", "")

    def _walk(self, body, function, condition):
        for node in body:
            own = condition
            if isinstance(node, ast.Assert):
                own = ast.unparse(node.test)
            compound = getattr(node, "body", None) is not None
            last = node.body[0].lineno - 1 if compound else node.end_lineno
            words = "" if compound and not isinstance(node, ast.If) else words_of(
                node.test if isinstance(node, ast.If) else node)
            self.all.append(Statement(function, node.lineno, max(last, node.lineno),
                                      type(node).__name__.lower(), header(node), own, words))
            inner = function
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{function}.{node.name}" if function else node.name
                self._walk(node.body, inner, "")
                continue
            test = ast.unparse(node.test) if isinstance(node, (ast.If, ast.While)) else condition
            self._walk(getattr(node, "body", []), inner, test)
            negated = f"not ({test})" if isinstance(node, ast.If) else condition
            self._walk(getattr(node, "orelse", []), inner, negated)
            for handler in getattr(node, "handlers", []):
                self._walk(handler.body, inner, condition)
            self._walk(getattr(node, "finalbody", []), inner, condition)

    def at(self, line):
        """The innermost statement that covers a line; a comment or `else:` counts to the next."""
        found = [s for s in self.all if s.line <= line <= s.end]
        if found:
            return max(found, key=lambda s: s.line)
        after = [s for s in self.all if line < s.line <= line + 6]
        return min(after, key=lambda s: s.line) if after else None

    def same(self, text):
        return [s for s in self.all if s.text == text]


class Lines:
    """The same for files that are not Python: every line is a statement."""

    def __init__(self, text):
        self.all = [Statement("", n, n, "line", line.strip(), "", line.strip())
                    for n, line in enumerate(text.splitlines(), 1)]

    def at(self, line):
        return self.all[line - 1] if 0 < line <= len(self.all) else None

    def same(self, text):
        return [s for s in self.all if s.text == text]


def read(path, text):
    return Statements(text) if path.endswith(".py") else Lines(text)
