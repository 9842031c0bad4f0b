"""Megatron-LM's command line: every add_argument() that its parser runs, in order, including the
flags that it generates from dataclasses. Read from syntax; nothing is executed."""
import ast
import signal

import classes
from classes import COMPUTED
from source import Module, dotted

FUNCTIONS = {"moe_freq_type": "pattern", "la_freq_type": "pattern", "no_rope_freq_type": "pattern",
             "tuple_type": "integer_tuple"}
PLAIN = {"int": "integer", "float": "real", "str": "text", "bool": "boolean"}


class Inference(Exception):
    """Upstream's generator cannot derive the flag's type and relies on the field's metadata."""


def options(program, module_name="megatron.training.arguments",
            function="add_megatron_arguments"):
    module = program.module(module_name)
    out = []
    for statement in module.names[function].body:
        call = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            target = module.resolve(call.func.id)
            if target and isinstance(target[1], ast.FunctionDef):
                _Group(target[0], out).run(target[1].body, "")
    return out


def extras(checkout, program):
    """Flags that entry scripts add: the functions they pass as extra_args_provider, with the
    script's name, or with the package that must be installed."""
    out, known = [], set()
    for path in sorted(checkout.files()):
        if not path.endswith(".py") or path.startswith(("megatron/training/", "tests/")):
            continue
        if "extra_args_provider=" not in (checkout.read(path) or ""):
            continue
        try:
            script = Module(program, path[:-3].replace("/", "."), checkout, path, False)
        except SyntaxError:
            continue  # an example that does not run
        for call in ast.walk(script.tree):
            for keyword in call.keywords if isinstance(call, ast.Call) else ():
                if keyword.arg != "extra_args_provider":
                    continue
                value, entry = keyword.value, path
                if isinstance(value, ast.IfExp):
                    value, entry = value.body, ast.unparse(value.test).removeprefix("has_")
                target = script.resolve(dotted(value) or "")
                if target and isinstance(target[1], ast.FunctionDef) and (entry, target) not in known:
                    known.add((entry, target))
                    _function(*target, entry, out)
    # Of scripts that do not train, each flag once: that it exists is all that matters here.
    trains, seen, kept = ("pretrain", "train", "finetune"), set(), []
    for option in sorted(out, key=lambda o: not o["entry"].rpartition("/")[2].startswith(trains)):
        script = option["entry"].rpartition("/")[2]
        if script.endswith(".py") and not script.startswith(trains) and option["flags"][0] in seen:
            continue
        seen.add(option["flags"][0])
        kept.append(option)
    return kept


def _function(module, node, entry, out, depth=0):
    """The flags of add_x_args(parser), also of functions that it calls with the parser."""
    group = _Group(module, [])
    group.run(node.body, entry)
    out.extend(group.out)
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and depth < 4:
            target = module.resolve(call.func.id)
            if (target and isinstance(target[1], ast.FunctionDef) and call.args and
                    dotted(call.args[0]) == "parser"):
                _function(*target, entry, out, depth + 1)


class _Group:
    def __init__(self, module, out):
        self.module, self.out, self.factories = module, out, {}

    def run(self, body, entry):
        for node in body:
            if isinstance(node, ast.ImportFrom):
                self.module._import_from(node)
            elif isinstance(node, ast.Try):
                self.run(node.body, entry)
            elif isinstance(node, ast.If):
                test = (dotted(node.test) or "").lower().removeprefix("have_")
                self.run(node.body, test or entry)
            elif isinstance(node, ast.Assign):
                self._assign(node, entry)
            elif isinstance(node, ast.Expr):
                calls = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                for call in calls:
                    self._call(call, entry)

    def _assign(self, node, entry):
        name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else None
        if isinstance(node.value, ast.Call):
            if (dotted(node.value.func) or "").endswith("ArgumentGroupFactory"):
                self.factories[name] = self._factory(node.value)
                return
            self._call(node.value, entry)
        elif name:
            self.module.names[name] = node.value  # the list of excluded fields

    def _factory(self, call):
        target = self.module.resolve(dotted(call.args[0]))
        exclude = call.args[1] if len(call.args) > 1 else None
        for keyword in call.keywords:
            if keyword.arg == "exclude":
                exclude = keyword.value
        return target, set(classes.literal(self.module, exclude)) if exclude is not None else set()

    def _call(self, call, entry):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return
        if call.func.attr == "add_argument":
            flags = [classes.literal(self.module, a) for a in call.args]
            keywords = {k.arg: k.value for k in call.keywords}
            anchor = f"{self.module.path}:{call.lineno}"
            self.out.append(_option(self.module, flags, keywords, {}, anchor, entry))
        elif call.func.attr == "build_group":
            owner = call.func.value
            factory = (self._factory(owner) if isinstance(owner, ast.Call)
                       else self.factories.get(dotted(owner)))
            for field in classes.fields(*factory[0]).values():
                if field.name not in factory[1] and field.init:
                    self.out.append(_generated(field))


def _generated(field):
    """Upstream's ArgumentGroupFactory on one dataclass field."""
    spelled = "--" + field.name.replace("_", "-")
    known = {"flags": [spelled], "dest": field.name,
             "default": field.default if field.has_default else COMPUTED}
    meta = field.meta("argparse_meta")
    try:
        known.update(_infer(field.module, field.annotation))
        if known.get("convert") == "boolean":
            del known["convert"]
            false = field.has_default and field.default in (False, 0) and field.default is not None
            known["action"] = "store_true" if false else "store_false"
            if not false:
                known["flags"] = ["--no-" + spelled[2:], "--disable-" + spelled[2:]]
    except Inference:
        if meta is None:
            raise
    meta = dict(meta or {})
    if "arg_names" in meta:
        known["flags"] = classes.literal(field.module, meta.pop("arg_names"))
    option = _option(field.module, known.pop("flags"), meta, known, field.anchor, "")
    option["owner"] = field.owner.name
    option["field"] = field.name
    return option


def _parts(node):
    """Members of a union in order, or None."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [p for side in (node.left, node.right) for p in (_parts(side) or [side])]
    if isinstance(node, ast.Subscript):
        head = (dotted(node.value) or "").split(".")[-1]
        if head == "Optional":
            return (_parts(node.slice) or [node.slice]) + [ast.Constant(None)]
        if head == "Union":
            args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return [p for a in args for p in (_parts(a) or [a])]
    return None


def _infer(module, node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    parts = _parts(node)
    if parts:
        if isinstance(parts[1], ast.Constant) and parts[1].value is None:
            return _infer(module, parts[0])
        raise Inference(ast.unparse(node))
    if isinstance(node, ast.Subscript):
        head = (dotted(node.value) or "").split(".")[-1]
        args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head in ("list", "List"):
            return {**_infer(module, args[0]), "nargs": "+"}
        if head == "Literal":
            choices = [classes.literal(module, a) for a in args]
            return {"convert": {str: "text", int: "integer", float: "real", bool: "boolean"}[
                type(choices[0])], "choices": choices}
        raise Inference(ast.unparse(node))
    name = dotted(node) or ""
    if name in ("signal.Signals", "Signals"):
        return {"convert": "enum_name", "choices": [s.name for s in signal.Signals]}
    target = module.resolve(name)
    if target and isinstance(target[1], ast.ClassDef) and classes.is_enum(*target):
        return {"convert": "enum_name", "choices": classes.enum_members(target[1])}
    if target and isinstance(target[1], ast.expr) and target[1] is not node:
        return _infer(*target)
    return {"convert": PLAIN.get(name, "other")}


def _option(module, flags, keywords, known, anchor, entry):
    """One row. `keywords` are syntax and win over `known`, which are values already."""
    row = {"flags": flags, "dest": known.get("dest"), "action": known.get("action", "store")}
    if "action" in keywords:
        action = keywords["action"]
        row["action"] = (classes.literal(module, action) if isinstance(action, ast.Constant)
                         else "boolean_optional")
    value = {k: known[k] for k in ("default", "nargs", "choices", "convert") if k in known}
    for name in ("default", "nargs", "choices", "const", "required", "dest"):
        if name in keywords:
            value[name] = classes.literal(module, keywords[name])
    if "type" in keywords:
        value["convert"], choices = _convert(module, keywords["type"])
        if choices:
            value["choices"] = choices
    row["dest"] = value.pop("dest", None) or row["dest"] or _dest(flags)
    default = {"store_true": False, "store_false": True}.get(row["action"])
    row["default"] = value.pop("default", default)
    if row["action"] != "store":
        value.pop("nargs", None)
    elif "convert" not in value:
        value["convert"] = "text"
    if value.get("choices") == COMPUTED:
        value.pop("choices")
        value["convert"] = "other"
    for name in ("nargs", "convert", "choices", "const", "required"):
        if value.get(name) is not None:
            row[name] = value[name]
    if row["default"] == COMPUTED:
        del row["default"]
        row["computed"] = True
    if entry:
        row["entry"] = entry
    row["at"] = anchor
    return row


def _dest(flags):
    long = [f for f in flags if f.startswith("--")]
    return (long or flags)[0].lstrip("-").replace("-", "_")


def _convert(module, node):
    """(conversion, choices that the conversion itself imposes)"""
    name = dotted(node)
    if name in PLAIN:
        return PLAIN[name], None
    if name in FUNCTIONS:
        return FUNCTIONS[name], None
    if isinstance(node, ast.Lambda):
        return _lookup(module, node.body)
    target = module.resolve(name or "")
    if target and isinstance(target[1], ast.FunctionDef):
        literals, members = [], None
        for item in ast.walk(target[1]):
            if isinstance(item, ast.Set):
                literals = classes.literal(target[0], item)
            if isinstance(item, ast.Subscript):
                members = _members(target[0], item) or members
        if members:
            return "enum_name", literals + [m for m in members if m not in literals]
    return "other", None


def _members(module, node):
    owner = module.resolve(dotted(node.value) or "") if isinstance(node, ast.Subscript) else None
    if owner and isinstance(owner[1], ast.ClassDef) and classes.is_enum(*owner):
        return classes.enum_members(owner[1])
    return None


def _lookup(module, body):
    members = _members(module, body)
    if members:
        return "enum_name", members
    if isinstance(body, ast.IfExp):  # Enum[x] if x != 'full' else x
        for side, other in ((body.body, body.orelse), (body.orelse, body.body)):
            members = _members(module, side)
            if members and isinstance(other, ast.Name):
                extra = [c.value for c in ast.walk(body.test) if isinstance(c, ast.Constant)]
                return "enum_name", extra + members
    return "other", None
