"""Rows for classes and their fields: what a configuration object may hold and its defaults."""
import ast

import classes
from classes import COMPUTED
from source import dotted


def qualified(target):
    module, node = target
    return f"{module.name}.{node.name}"


class Tables:
    """Classes reachable from the ones added, at one version. `prefix` maps a module's checkout to
    what goes before its paths in anchors (a submodule's folder)."""

    def __init__(self, prefix=None):
        self.prefix = prefix or {}
        self.classes, self.fields = {}, []

    def anchor(self, module, line):
        return f"{self.prefix.get(module.checkout.git_dir, '')}{module.path}:{line}"

    def add(self, target):
        name = qualified(target)
        if name in self.classes:
            return name
        module, node = target
        order = classes.linearize(module, node)
        row = {"class": name, "bases": [qualified(t) for t in order[1:]],
               "dataclass": classes.is_dataclass(node), "at": self.anchor(module, node.lineno)}
        self.classes[name] = row
        for base in order[1:]:
            self.add(base)
        known = classes.fields(module, node)
        own = classes.own_fields(module, node)
        for field in known.values():
            if field.name in own or field.owner is node:
                self.fields.append(self._field(name, field))
        return name

    def _field(self, owner, field):
        kind = classes.annotation(field.module, field.annotation)
        row = {"class": owner, "name": field.name, "type": kind.text()}
        if kind.choices:
            row["choices"] = kind.choices
            if kind.enum:
                row["enum"] = True
        objects = [self.add(t) for t in kind.classes + ([kind.cls] if kind.kind == "list" and
                                                        kind.cls else [])]
        if objects:
            row["classes"] = objects
        if field.has_default:
            if field.default == COMPUTED:
                row["computed"] = True
                if field.factory_class:
                    row["builds"] = self.add(field.factory_class)
            else:
                row["default"] = field.default
        if not field.init:
            row["init"] = False
        row["at"] = self.anchor(field.module, field.node.lineno)
        return row


def subclasses(program, checkout, folder, package, wanted):
    """Dataclasses under a folder that derive from one of `wanted` (targets), by reading every
    file that says dataclass."""
    names = {qualified(t) for t in wanted}
    for path in sorted(checkout.files()):
        if not (path.startswith(folder + package.replace(".", "/")) and path.endswith(".py")):
            continue
        if "@dataclass" not in (checkout.read(path) or ""):
            continue
        name = path[len(folder):-3].replace("/", ".").removesuffix(".__init__")
        module = program.module(name)
        for node in module.names.values() if module else ():
            if isinstance(node, ast.ClassDef) and classes.is_dataclass(node):
                order = classes.linearize(module, node)
                if any(qualified(t) in names for t in order[1:]):
                    yield module, node


def section_classes(module, node):
    """Classes of a container field's annotation, and whether something else may stand there."""
    kind = classes.annotation(module, node)
    return kind.classes


__all__ = ["Tables", "qualified", "subclasses", "section_classes", "dotted"]
