#!/usr/bin/env python3
"""Writes rules/schema/verl.yaml from a git directory of verl-project/verl: every file of its Hydra
tree (defaults list, own keys), the classes that the trees name, and the keys of the composed trees.
Needs PyYAML (Debian: python3-yaml).

usage: verl.py GIT_DIR OUT"""
import os
import re
import sys

import yaml

import catalogue
import classes
from class_tables import Tables
from source import Checkout, Program

VERSIONS = [(v, "v" + v) for v in ("0.5.0", "0.6.0", "0.6.1", "0.7.0", "0.7.1", "0.8.0", "0.9.0")]
VERSIONS += [("0.10.0.dev0", "1dda039")]
TREE = "verl/trainer/config/"
ENGINES = ("dp", "megatron", "veomni", "torchtitan", "mindspeed")
SFT_ENGINES = ("fsdp", "megatron", "veomni", "torchtitan", "automodel", "mindspeed")
FLOAT = re.compile(r"""^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?
  |[-+]?(?:[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)|\.[0-9_]+(?:[eE][-+][0-9]+)?
  |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$""", re.X)


class Loader(yaml.SafeLoader):
    """Scalars as OmegaConf reads them: 1e-6 is a number, dates are text."""


Loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rows if tag != "tag:yaml.org,2002:timestamp"]
    for first, rows in Loader.yaml_implicit_resolvers.items()}


class File:
    def __init__(self, path, text):
        self.path, self.lines = path, {}
        header = re.search(r"^#\s*@package\s+(\S+)", text, re.M)
        self.package = header.group(1) if header else ""
        root = yaml.compose(text, Loader)
        self.body = yaml.load(text, Loader) or {}
        if root is not None:
            self._mark(root, "")
        self.defaults = self.body.pop("defaults", [])

    def _mark(self, node, prefix):
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                path = f"{prefix}{key.value}"
                self.lines[path] = key.start_mark.line + 1
                self._mark(value, path + ".")

    def leaves(self):
        yield from leaves(self.body, "")


def leaves(node, prefix):
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def tree(checkout):
    """{name without .yaml: File}: the main folder and the roots that search it."""
    out = {}
    for path in sorted(checkout.files()):
        if not path.endswith(".yaml") or "_generated" in path or not path.startswith("verl/"):
            continue
        text = None
        if path.startswith(TREE):
            name = path[len(TREE):-5]
        elif "/config/" in path and "verl/trainer/config" in (checkout.read(path) or ""):
            name = os.path.basename(path)[:-5]
        elif "/config/" in path and "pkg://verl.trainer.config" in (checkout.read(path) or ""):
            name = os.path.basename(path)[:-5]
        else:
            continue
        text = checkout.read(path)
        out[name] = File(path, text)
    return out


class Composer:
    """Hydra's composition: leaves with the file that each came from."""

    def __init__(self, files, choices):
        self.files, self.choices, self.out, self.used = files, choices, {}, {}

    def expand(self, name, package, overrides):
        file = self.files[name]
        if file.package == "_global_":
            package = ""
        overrides = dict(overrides)
        for entry in file.defaults:
            if isinstance(entry, dict):
                (key, value), = entry.items()
                if key.startswith("override "):
                    overrides.setdefault(key[9:].strip(), value)
        done, group = False, os.path.dirname(name)
        for entry in file.defaults:
            if entry == "_self_":
                self.merge(file, package)
                done = True
            elif isinstance(entry, str):
                target, _, where = entry.partition("@")
                self.expand(self.path(group, target), self.join(package, where), overrides)
            else:
                (key, value), = entry.items()
                if key.startswith("override "):
                    continue
                key = key.removeprefix("optional ").strip()
                target, _, where = key.partition("@")
                target = self.path(group, target)
                where = self.join(package, where or target.replace("/", "."))
                choice = self.choices.get(target, overrides.get(target, value))
                if choice is None:
                    continue
                for option in choice if isinstance(choice, list) else [choice]:
                    option = re.sub(r"\$\{(\w+)\}", lambda m: self.used.get(m.group(1), ""),
                                    option)
                    self.used[target] = option
                    if f"{target}/{option}" in self.files:
                        self.expand(f"{target}/{option}", where, overrides)
        if not done:
            self.merge(file, package)

    @staticmethod
    def path(group, target):
        return target[1:] if target.startswith("/") else os.path.normpath(
            os.path.join(group, target))

    @staticmethod
    def join(package, where):
        return ".".join(p for p in (package, where) if p)

    def merge(self, file, package):
        prefix = package + "." if package else ""
        for key, value in file.leaves():
            key = prefix + key
            for old in [k for k in self.out if k.startswith(key + ".")]:
                if isinstance(value, dict) and not value:
                    break  # an empty mapping takes nothing away
                del self.out[old]
            else:
                parts = key.split(".")
                for i in range(1, len(parts)):
                    self.out.pop(".".join(parts[:i]), None)
                self.out[key] = (value, file)


def roots(files):
    names = [n for n in files if n.endswith("trainer") or n.startswith("sft_trainer")]
    for name in sorted(names):
        if name.startswith("sft"):
            for engine in SFT_ENGINES:
                if f"engine/{engine}" in files:
                    optim = engine if f"optim/{engine}" in files else "fsdp"
                    yield name, {"engine": engine, "optim": optim}
            if not any(n.startswith("engine/") for n in files):
                yield name, {}
        else:
            for engine in ENGINES:
                if f"model_engine/{engine}" in files:
                    yield name, {"model_engine": engine}
            yield name, {}


def describe(program, tables, composed):
    """Rows for the keys of one composed tree, typed by the class that its node names."""
    targets = {k[:-9]: v for k, (v, _) in composed.items()
               if k.endswith("._target_") and isinstance(v, str)}
    known = {}
    for prefix, target in targets.items():
        module, _, name = target.rpartition(".")
        found = program.module(module)
        found = found.resolve(name) if found else None
        if found:
            tables.add(found)
            known[prefix] = classes.fields(*found)
    for key, (value, file) in composed.items():
        if key.endswith("_target_"):
            continue
        parent, _, leaf = key.rpartition(".")
        row = {"name": key}
        field = known.get(parent, {}).get(leaf)
        if field is not None:
            kind = classes.annotation(field.module, field.annotation)
            row["type"] = kind.text()
            if kind.choices:
                row["choices"] = kind.choices
            row["owner"] = field.owner.name
        if value != "???":
            row["cls"] = value
        own = key
        while own and own not in file.lines:
            own = own.partition(".")[2]
        row["at"] = f"{file.path}:{file.lines.get(own, 1)}"
        yield row


def main(git_dir, out):
    names = [v for v, _ in VERSIONS]
    file_rows = catalogue.Rows(names, lambda r: r["file"])
    leaf_rows = catalogue.Rows(names, lambda r: (r["file"], r["key"]))
    key_rows = catalogue.Rows(names, lambda r: r["name"])
    class_rows = catalogue.Rows(names, lambda r: r["class"])
    field_rows = catalogue.Rows(names, lambda r: (r["class"], r["name"]))
    heads = []
    for index, (version, tag) in enumerate(VERSIONS):
        checkout = Checkout(git_dir, tag)
        program = Program([("verl", checkout, "")])
        tables, files, keys = Tables(), tree(checkout), {}
        for name, file in files.items():
            row = {"file": name, "defaults": file.defaults, "at": f"{file.path}:1"}
            if file.package:
                row["package"] = file.package
            file_rows.add(index, row)
            for key, value in file.leaves():
                leaf_rows.add(index, {"file": name, "key": key, "default": value,
                                      "at": f"{file.path}:{file.lines.get(key, 1)}"})
        for root, choices in roots(files):
            composer = Composer(files, choices)
            composer.expand(root, "", {})
            for row in describe(program, tables, composer.out):
                keys.setdefault(row["name"], row)
        for row in keys.values():
            key_rows.add(index, row)
        for row in tables.classes.values():
            class_rows.add(index, row)
        for row in tables.fields:
            field_rows.add(index, row)
        heads.append({"version": version, "tag": tag, "commit": checkout.commit,
                      "released": tag.startswith("v")})
        print(f"verl {version}: {len(files)} files, {len(keys)} keys, {len(tables.classes)} classes",
              file=sys.stderr)
        checkout.close()
    catalogue.write(out, [
        "# Made by tools/extract_schema/verl.py; do not edit. `in` names the versions for which a",
        "# row holds (absent: all), `at` the newest of their sources. files and leaves are the Hydra",
        "# tree; keys are those of all composed trees, with the first tree's default.",
        "schema: shardlint/keys@1", "framework: verl", "repository: verl-project/verl"],
        {"versions": heads, "files": file_rows.sorted(), "leaves": leaf_rows.sorted(),
         "keys": key_rows.sorted(), "classes": class_rows.sorted(),
         "fields": field_rows.sorted()})


if __name__ == "__main__":
    main(*sys.argv[1:])
