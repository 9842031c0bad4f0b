#!/usr/bin/env python3
"""Packs rules/schema/*.yaml into one C++ source with one byte array a framework.

usage: embed_schema.py OUT.cpp DEPFILE FOLDER
The layout is described in src/schema/blob.h, which reads it. Needs the standard library alone: the
files hold one JSON row a line (tools/extract_schema/catalogue.py writes them)."""
import json
import os
import struct
import sys

KINDS = ["any", "bool", "int", "float", "str", "path", "choice", "list", "map", "object", "none"]
ACTIONS = ["store", "store_true", "store_false", "boolean_optional", "store_const", "append",
           "count", "help"]
CONVERTS = ["text", "integer", "real", "boolean", "enum_name", "pattern", "integer_tuple", "other"]
FRAMEWORKS = ["megatron-lm", "megatron-bridge", "verl"]


class Packer:
    def __init__(self):
        self.strings, self.text = {}, []

    def string(self, value):
        value = str(value)
        if value not in self.strings:
            self.strings[value] = len(self.text)
            self.text.append(value.encode())
        return number(self.strings[value])

    def strings_of(self, values):
        return number(len(values)) + b"".join(self.string(v) for v in values)

    def value(self, value):
        if value is None:
            return b"\0"
        if value is False:
            return b"\1"
        if value is True:
            return b"\2"
        if isinstance(value, int):
            return b"\3" + struct.pack("<q", value)
        if isinstance(value, float):
            return b"\4" + struct.pack("<d", value)
        if isinstance(value, str):
            return b"\5" + self.string(value)
        if isinstance(value, list):
            return b"\6" + number(len(value)) + b"".join(self.value(v) for v in value)
        return b"\7" + number(len(value)) + b"".join(self.string(k) + self.value(v)
                                                     for k, v in value.items())

    def pool(self):
        return (number(len(self.text)) + b"".join(number(len(t)) for t in self.text) +
                b"".join(self.text))


def number(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read(path):
    out, section = {}, None
    with open(path, encoding="utf-8") as file:
        for line_number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            try:
                if line.startswith("- "):
                    out[section].append(json.loads(line[2:]))
                    continue
            except (ValueError, KeyError) as error:
                sys.exit(f"{path}:{line_number}: {error}")
            name, _, value = line.partition(":")
            value = value.strip()
            section = None if value else name
            out[name] = value or []
    return out


def mask(row, versions):
    if "in" not in row:
        return (1 << len(versions)) - 1
    out = 0
    for run in row["in"].split():
        first, _, last = run.partition("..")
        for index in range(versions.index(first), versions.index(last or first) + 1):
            out |= 1 << index
    return out


def key_type(packer, row):
    text = row.get("type", "any")
    optional = text.endswith("?")
    kind, _, element = text.rstrip("?").partition("[")
    classes = row.get("classes", [])
    return (bytes([KINDS.index(kind), KINDS.index(element.rstrip("]") or "any"),
                   1 * optional + 2 * (row.get("type", "any") != "any" and not row.get("guessed"))]) +
            packer.strings_of(classes))


def key(packer, row, name):
    flags = (1 * ("cls" in row) + 2 * ("cli" in row) + 4 * bool(row.get("computed")) +
             8 * (row.get("init") is False) + 16 * bool(row.get("cli_computed")))
    return (packer.string(name) + key_type(packer, row) +
            packer.strings_of(row.get("choices", [])) + packer.string(row.get("owner", "")) +
            packer.string(row.get("at", "")) + packer.string(row.get("builds", "")) +
            bytes([flags]) + packer.value(row.get("cls")) + packer.value(row.get("cli")))


def option(packer, row):
    nargs = row.get("nargs")
    kind = {None: 0, "?": 1, "*": 2, "+": 3}.get(nargs, 4)
    return (packer.strings_of(row["flags"]) + packer.string(row["dest"]) +
            bytes([ACTIONS.index(row["action"]), kind]) +
            number(nargs if kind == 4 else 0) + bytes([CONVERTS.index(row.get("convert", "text"))]) +
            packer.strings_of(row.get("choices", [])) + bytes([bool(row.get("required"))]) +
            packer.value(row.get("const")) + packer.string(row.get("entry", "")) +
            packer.string(row.get("at", "")))


def field(packer, row):
    row = dict(row)
    if "default" in row:
        row["cls"] = row["default"]
    row["owner"] = row["class"]
    return packer.string(row["class"]) + key(packer, row, row["name"])


def class_row(packer, row):
    return (packer.string(row["class"]) + packer.strings_of(row["bases"]) +
            packer.string(row.get("at", "")))


def tree_file(packer, row):
    return (packer.string(row["file"]) + packer.string(row.get("package", "")) +
            packer.value(row.get("defaults", [])))


def leaf(packer, row):
    return packer.string(row["file"]) + packer.string(row["key"]) + packer.value(row["default"])


def sections(packer, data, versions):
    """Every section: number of rows, then each row's length, version mask and content."""
    order = {"keys": lambda r: r["name"].encode(), "classes": lambda r: r["class"].encode(),
             "fields": lambda r: (r["class"].encode(), r["name"].encode()),
             "files": lambda r: r["file"].encode(), "leaves": lambda r: r["file"].encode()}  # as the reader searches them
    packers = [
        ("keys", lambda r: key(packer, r, r["name"])),
        ("options", lambda r: option(packer, r)),
        ("sections", lambda r: packer.string(r["section"]) + packer.strings_of(r["classes"])),
        ("classes", lambda r: class_row(packer, r)),
        ("fields", lambda r: field(packer, r)),
        ("files", lambda r: tree_file(packer, r)),
        ("leaves", lambda r: leaf(packer, r)),
    ]
    out = b""
    for name, pack in packers:
        rows = sorted(data.get(name, []), key=order.get(name, lambda r: 0))
        out += number(len(rows))
        for row in rows:
            body = number(mask(row, versions)) + pack(row)
            out += number(len(body)) + body
    return out


def framework(name, folder):
    packer = Packer()
    data = read(os.path.join(folder, name + ".yaml"))
    versions = [v["version"] for v in data["versions"]]
    body = packer.string(data["repository"]) + number(len(versions))
    for row in data["versions"]:
        body += (packer.string(row["version"]) + packer.string(row["commit"]) +
                 bytes([bool(row.get("released", True))]))
    body += sections(packer, data, versions)
    renames = [r for r in read(os.path.join(folder, "renames.yaml"))["renames"]
               if r["framework"] == name]
    body += number(len(renames))
    for row in renames:
        body += (packer.string(row["old"]) + packer.string(row.get("new", "")) +
                 packer.string(row.get("note", "")))
    canonical = [r for r in read(os.path.join(folder, "canonical.yaml"))["canonical"]
                 if name in r]
    body += number(len(canonical))
    for row in canonical:
        spelled = row[name] if isinstance(row[name], list) else [row[name]]
        body += packer.string(row["key"]) + packer.strings_of(spelled)
    return packer.pool() + body


def main(out, depfile, folder):
    lines = ["// Made from rules/schema by src/schema/embed_schema.py.",
             '#include "schema/blob.h"', "namespace shardlint {", "namespace {"]
    table = []
    for name in FRAMEWORKS:
        if not os.path.exists(os.path.join(folder, name + ".yaml")):
            continue
        data = framework(name, folder)
        symbol = name.replace("-", "_") + "_bytes"
        lines.append(f"alignas(8) constexpr unsigned char {symbol}[] = {{")
        lines += [",".join(map(str, data[i:i + 32])) + "," for i in range(0, len(data), 32)]
        lines.append("};")
        table.append(f'  {{"{name}", {symbol}}},')
    names = [r["key"] for r in read(os.path.join(folder, "canonical.yaml"))["canonical"]]
    lines.append("constexpr std::string_view canonical[] = {")
    lines += [f'    "{n}",' for n in names]
    lines += ["};", "constexpr SchemaBlob blobs[] = {", *table, "};", "}  // namespace",
              "std::span<const SchemaBlob> schema_blobs() { return blobs; }",
              "std::span<const std::string_view> schema_canonical_names() { return canonical; }",
              "}  // namespace shardlint", ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    inputs = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".yaml"))
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(f"{out}: {' '.join(inputs)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
