#!/usr/bin/env python3
"""Writes rules/schema/megatron-bridge.yaml from git directories of NVIDIA-NeMo/Megatron-Bridge and
of NVIDIA/Megatron-LM (for the classes that it inherits, at the submodule's commit).

usage: megatron_bridge.py BRIDGE_GIT_DIR MEGATRON_LM_GIT_DIR OUT"""
import sys

import catalogue
import classes
from class_tables import Tables, qualified, subclasses
from source import Checkout, Program

VERSIONS = [(v, "v" + v) for v in ("0.2.0", "0.2.1", "0.2.2", "0.3.0", "0.3.1", "0.4.0", "0.4.1",
                                   "0.4.2", "0.5.0", "0.5.1", "0.6.0")] + [("0.7.0", "067f987")]
# The unreleased commit is read with the Megatron-LM commit of the same day, as its recorded
# verdicts are; the submodule it pins (2a75ac12c) lacks 18 of these fields.
CORE = {"0.7.0": "d98e8a64"}
SUBMODULE = "3rdparty/Megatron-LM"


def main(git_dir, core_dir, out):
    names = [v for v, _ in VERSIONS]
    class_rows = catalogue.Rows(names, lambda r: r["class"])
    field_rows = catalogue.Rows(names, lambda r: (r["class"], r["name"]))
    section_rows = catalogue.Rows(names, lambda r: r["section"])
    heads = []
    for index, (version, tag) in enumerate(VERSIONS):
        checkout = Checkout(git_dir, tag)
        core = Checkout(core_dir, CORE.get(version) or checkout.submodule(SUBMODULE))
        program = Program([("megatron.bridge", checkout, "src/"), ("megatron", core, "")])
        tables = Tables({core_dir: SUBMODULE + "/"})
        container = program.module("megatron.bridge.training.config").resolve("ConfigContainer")
        tables.add(container)
        wanted = []
        for field in classes.fields(*container).values():
            found = classes.annotation(field.module, field.annotation).classes
            if found:
                section_rows.add(index, {"section": field.name,
                                         "classes": [tables.add(t) for t in found],
                                         "at": tables.anchor(field.module, field.node.lineno)})
                wanted += found
        section_rows.add(index, {"section": "", "classes": [qualified(container)],
                                 "at": tables.anchor(container[0], container[1].lineno)})
        for target in subclasses(program, checkout, "src/", "megatron.bridge", wanted):
            tables.add(target)
        for row in tables.classes.values():
            class_rows.add(index, row)
        for row in tables.fields:
            field_rows.add(index, row)
        heads.append({"version": version, "tag": tag, "commit": checkout.commit,
                      "megatron_lm": core.commit, "released": tag.startswith("v")})
        print(f"megatron-bridge {version}: {len(tables.classes)} classes, "
              f"{len(tables.fields)} fields", file=sys.stderr)
        checkout.close()
        core.close()
    catalogue.write(out, [
        "# Made by tools/extract_schema/megatron_bridge.py; do not edit. `in` names the versions for",
        "# which a row holds (absent: all), `at` the newest of their sources. The classes of",
        "# Megatron-Core are those of the commit that `versions` names.",
        "schema: shardlint/keys@1", "framework: megatron-bridge",
        "repository: NVIDIA-NeMo/Megatron-Bridge"],
        {"versions": heads, "sections": section_rows.sorted(), "classes": class_rows.sorted(),
         "fields": field_rows.sorted()})


if __name__ == "__main__":
    main(*sys.argv[1:])
