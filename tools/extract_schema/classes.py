"""Dataclass fields, annotations and literal defaults, from syntax alone."""
import ast

from source import dotted

COMPUTED = {"computed": True}  # a default that only running the program would give


class Field:
    def __init__(self, name, module, node, owner):
        self.name, self.module, self.node, self.owner = name, module, node, owner
        self.annotation = node.annotation
        self.default, self.has_default, self.init, self.metadata = None, False, True, {}
        self.factory_class = None
        self._read(node.value)

    def _read(self, value):
        if value is None:
            return
        if isinstance(value, ast.Call) and (dotted(value.func) or "").split(".")[-1] == "field":
            for keyword in value.keywords:
                if keyword.arg == "default":
                    self.default, self.has_default = literal(self.module, keyword.value), True
                elif keyword.arg == "default_factory":
                    self.default, self.has_default = self._factory(keyword.value), True
                elif keyword.arg == "init":
                    self.init = literal(self.module, keyword.value) is not False
                elif keyword.arg == "metadata":
                    self.metadata = keyword.value
            return
        self.default, self.has_default = literal(self.module, value), True
        if isinstance(value, ast.Call):
            self.factory_class = self._class_of(value.func)

    def _class_of(self, func):
        name = dotted(func)
        target = self.module.resolve(name) if name else None
        return target if target and isinstance(target[1], ast.ClassDef) else None

    def _factory(self, value):
        name = dotted(value)
        if name in ("list", "tuple", "set"):
            return []
        if name == "dict":
            return {}
        if isinstance(value, ast.Lambda):
            if isinstance(value.body, ast.Call):
                self.factory_class = self._class_of(value.body.func)
            return literal(self.module, value.body)
        self.factory_class = self._class_of(value)
        return COMPUTED

    @property
    def anchor(self):
        return f"{self.module.path}:{self.node.lineno}"

    def meta(self, name):
        """The dict literal metadata[name], as {key: ast}."""
        if not isinstance(self.metadata, ast.Dict):
            return None
        for key, value in zip(self.metadata.keys, self.metadata.values):
            if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Dict):
                return {k.value: v for k, v in zip(value.keys, value.values)}
        return None


def literal(module, node, depth=0):
    """The value of an expression in JSON's terms; enum members and dtypes by name."""
    if depth > 12:
        return COMPUTED
    again = lambda n: literal(module, n, depth + 1)
    if isinstance(node, ast.Constant):
        if node.value is Ellipsis or isinstance(node.value, (bytes, complex)):
            return COMPUTED
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = again(node.operand)
        return -value if isinstance(value, (int, float)) else COMPUTED
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        values = [again(item) for item in node.elts]
        return COMPUTED if COMPUTED in values else values
    if isinstance(node, ast.Dict):
        out = {}
        for key, value in zip(node.keys, node.values):
            k, v = (again(key) if key else COMPUTED), again(value)
            if k == COMPUTED or v == COMPUTED or isinstance(k, (list, dict)):
                return COMPUTED
            out[str(k)] = v
        return out
    if isinstance(node, ast.BinOp):
        left, right = again(node.left), again(node.right)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            if isinstance(node.op, ast.Pow) and right < 128:
                return left ** right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Div) and right:
                return left / right
        return COMPUTED
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _name(module, node, depth)
    if isinstance(node, ast.ListComp):
        return _names_of_enum(module, node)
    if isinstance(node, ast.Call):
        return _call(module, node, depth)
    return COMPUTED


def _name(module, node, depth):
    name = dotted(node)
    if name is None:
        return COMPUTED
    if name.startswith("signal.SIG"):
        return name[7:]
    if name.startswith("torch.") and name.count(".") == 1:
        return {"half": "float16", "float": "float32"}.get(name[6:], name[6:])
    base, _, member = name.rpartition(".")
    if base:
        owner = module.resolve(base)
        if member == "value" and "." in base:  # Enum.member.value
            return literal_of_member(module, base)
        if owner and isinstance(owner[1], ast.ClassDef) and is_enum(*owner):
            return member
    target = module.resolve(name)
    if target and isinstance(target[1], ast.expr):
        if target == (module, node):
            return COMPUTED
        return literal(target[0], target[1], depth + 1)
    return COMPUTED


def literal_of_member(module, name):
    base, _, member = name.rpartition(".")
    owner = module.resolve(base)
    if owner and isinstance(owner[1], ast.ClassDef):
        for item in owner[1].body:
            if isinstance(item, ast.Assign) and item.targets[0].id == member:
                return literal(owner[0], item.value)
    return COMPUTED


def _names_of_enum(module, node):
    if len(node.generators) == 1 and isinstance(node.elt, ast.Attribute):
        owner = module.resolve(dotted(node.generators[0].iter) or "")
        if owner and isinstance(owner[1], ast.ClassDef) and is_enum(*owner):
            if node.elt.attr == "name":
                return enum_members(owner[1])
            if node.elt.attr == "value":
                return [literal(owner[0], i.value) for i in owner[1].body
                        if isinstance(i, ast.Assign)]
    return COMPUTED


def _call(module, node, depth):
    name = dotted(node.func)
    args = node.args
    if name == "list" and len(args) == 1:
        owner = module.resolve(dotted(args[0]) or "")
        if owner and isinstance(owner[1], ast.ClassDef) and is_enum(*owner):
            return enum_members(owner[1])
        return literal(module, args[0], depth + 1)
    if name == "range":
        bounds = [literal(module, a) for a in args]
        return list(range(*bounds)) if all(isinstance(b, int) for b in bounds) else COMPUTED
    if name in ("int", "float") and len(args) == 1:
        value = literal(module, args[0], depth + 1)
        try:
            return {"int": int, "float": float}[name](value)
        except (TypeError, ValueError):
            return COMPUTED
    if name in ("os.getenv", "os.environ.get") and len(args) == 2:
        return literal(module, args[1])  # what holds in an environment that does not set it
    return COMPUTED


def is_enum(module, node):
    return any((dotted(b) or "").split(".")[-1] in ("Enum", "IntEnum", "StrEnum", "IntFlag")
               for b in node.bases)


def enum_members(node):
    return [item.targets[0].id for item in node.body
            if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)]


def is_dataclass(node):
    return any((dotted(d.func if isinstance(d, ast.Call) else d) or "").split(".")[-1] ==
               "dataclass" for d in node.decorator_list)


def bases(module, node):
    out = []
    for base in node.bases:
        if isinstance(base, ast.Subscript):
            base = base.value
        target = module.resolve(dotted(base) or "")
        if target and isinstance(target[1], ast.ClassDef):
            out.append(target)
    return out


def linearize(module, node):
    """Python's method resolution order over the classes that can be found."""
    seqs = [linearize(*b) for b in bases(module, node)] + [bases(module, node)]
    seqs = [list(s) for s in seqs if s]
    out = [(module, node)]
    while any(seqs):
        for seq in seqs:
            if seq and not any(seq[0] in other[1:] for other in seqs):
                head = seq[0]
                break
        else:
            head = next(s for s in seqs if s)[0]
        out.append(head)
        seqs = [[c for c in s if c != head] for s in seqs]
    return out


def own_fields(module, node):
    """Annotated class attributes of a dataclass in the order written (later ones replace)."""
    if not is_dataclass(node):
        return {}
    out = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if "ClassVar" in ast.unparse(item.annotation):
                continue
            out[item.target.id] = Field(item.target.id, module, item, node)
    return out


def fields(module, node):
    """All fields of a dataclass, bases first, as dataclasses.fields() orders them."""
    out = {}
    for m, n in reversed(linearize(module, node)):
        for name, field in own_fields(m, n).items():
            out[name] = field
        for item in n.body:  # a plain class attribute changes an inherited field's default
            if not isinstance(item, ast.Assign):
                continue
            for target in item.targets:
                if isinstance(target, ast.Name) and target.id in out and is_dataclass(n):
                    field = out[target.id]
                    copy = Field(field.name, field.module, field.node, n)
                    copy.default, copy.has_default = literal(m, item.value), True
                    out[target.id] = copy
    return out


class Type:
    """kind: any bool int float str path choice list map object; see KeyType in schema.h."""

    def __init__(self, kind, optional=False, element=None, choices=None, cls=None, enum=False,
                 classes=()):
        self.kind, self.optional, self.element = kind, optional, element
        self.choices, self.cls, self.enum = choices, cls, enum
        self.classes = list(classes) or ([cls] if cls else [])

    def text(self):
        text = self.kind
        if self.kind in ("list", "map") and self.element:
            text += "[" + self.element + "]"
        return text + ("?" if self.optional else "")


PLAIN = {"bool": "bool", "int": "int", "float": "float", "str": "str", "dict": "map", "Dict": "map",
         "Mapping": "map", "list": "list", "List": "list", "tuple": "list", "Tuple": "list",
         "set": "list", "Set": "list", "Sequence": "list", "Iterable": "list",
         "PathLike": "path", "Path": "path", "dtype": "str", "OrderedDict": "map"}


def annotation(module, node, depth=0):
    if depth > 12 or node is None:
        return Type("any")
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Type("none", optional=True)
        if isinstance(node.value, str):
            try:
                return annotation(module, ast.parse(node.value, mode="eval").body, depth + 1)
            except SyntaxError:
                return Type("any")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([annotation(module, n, depth + 1) for n in (node.left, node.right)])
    if isinstance(node, ast.Subscript):
        head = (dotted(node.value) or "").split(".")[-1]
        args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Optional":
            return _union([annotation(module, args[0], depth + 1), Type("none", optional=True)])
        if head == "Union":
            return _union([annotation(module, a, depth + 1) for a in args])
        if head == "Literal":
            values = [literal(module, a) for a in args]
            optional = None in values
            values = [v for v in values if v is not None]
            return Type("choice", optional=optional, choices=values)
        if head in ("Annotated", "Final"):
            return annotation(module, args[0], depth + 1)
        kind = PLAIN.get(head)
        if kind in ("list", "map"):
            inner = annotation(module, args[-1 if kind == "map" else 0], depth + 1)
            return Type(kind, element=inner.kind if inner.kind != "none" else None,
                        choices=inner.choices if kind == "list" else None,
                        enum=inner.enum if kind == "list" else False,
                        cls=inner.cls if inner.kind == "object" else None)
        return Type("any")
    name = dotted(node)
    if name is None:
        return Type("any")
    target = module.resolve(name)
    if target and isinstance(target[1], ast.ClassDef):
        if is_enum(*target):
            return Type("choice", choices=enum_members(target[1]), enum=True)
        return Type("object", cls=target)
    if target and isinstance(target[1], ast.expr) and target != (module, node):
        return annotation(target[0], target[1], depth + 1)
    kind = PLAIN.get(name.split(".")[-1])
    return Type(kind) if kind else Type("any", optional=name in ("Any", "typing.Any"))


def _union(parts):
    optional = any(p.optional for p in parts)
    rest = [p for p in parts if p.kind != "none"]
    if len(rest) == 1:
        p = rest[0]
        return Type(p.kind, True if optional else p.optional, p.element, p.choices, p.cls, p.enum,
                    p.classes)
    kinds = {p.kind for p in rest}
    if kinds == {"object"}:
        return Type("object", optional, cls=rest[0].cls,
                    classes=[c for p in rest for c in p.classes])
    if kinds == {"int", "float"}:
        return Type("float", optional)
    if kinds == {"str", "path"}:
        return Type("path", optional)
    if kinds == {"choice"}:
        return Type("choice", optional, choices=[c for p in rest for c in p.choices or []])
    return Type("any", optional, classes=[c for p in rest for c in p.classes])
