"""What the checks of a source file look at: the material for mutations that aim at one of them.

An aim is one assert, raise or assignment, with the names of all attributes that it and the conditions
around it read, and the literals that stand beside each name. Read from syntax."""
import ast
import collections

Aim = collections.namedtuple("Aim", "line names literals")


def names_in(node):
    out = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            out.append(part.attr)
        elif isinstance(part, ast.Call) and getattr(part.func, "attr", getattr(part.func, "id", "")) in (
                "getattr", "hasattr", "get"):
            out += [a.value for a in part.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return list(dict.fromkeys(out))


def literals_in(node):
    """name -> literals that it is compared with"""
    out = collections.defaultdict(list)
    for part in ast.walk(node):
        if isinstance(part, ast.Compare):
            values = [c.value for c in ast.walk(part)
                      if isinstance(c, ast.Constant) and isinstance(c.value, (int, str, float))]
            for name in names_in(part):
                out[name] += values
    return out


def aims(text, functions=None):
    """Those of the functions named (all: None)."""
    out = []

    def visit(body, tests, wanted):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                visit(node.body, [], functions is None or node.name in functions
                      or isinstance(node, ast.ClassDef) and wanted)
                continue
            if wanted and isinstance(node, (ast.Assert, ast.Raise, ast.Assign)):
                parts = tests + ([node.test] if isinstance(node, ast.Assert) else
                                 node.targets if isinstance(node, ast.Assign) else [])
                names, literals = [], collections.defaultdict(list)
                for part in parts:
                    names += names_in(part)
                    for name, values in literals_in(part).items():
                        literals[name] += values
                if names:
                    out.append(Aim(node.lineno, list(dict.fromkeys(names)), dict(literals)))
            inner = tests + [node.test] if isinstance(node, ast.If) else tests
            visit(getattr(node, "body", []), inner, wanted)
            visit(getattr(node, "orelse", []), inner, wanted)
            visit(getattr(node, "finalbody", []), tests, wanted)

    visit(ast.parse(text).body, [], functions is None)
    return out
