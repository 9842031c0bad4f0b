"""The upstream places that rules and rewrites name."""
import collections
import pathlib

import yaml

Anchor = collections.namedtuple("Anchor", "rule case framework repo commit path line kind")


def anchors(rules):
    """All of them, in the order of the files."""
    for path in sorted(pathlib.Path(rules).glob("*/*.yaml")):
        if path.parent.name == "schema":
            continue
        document = yaml.load(path.read_text(), yaml.CSafeLoader)
        for case in document.get("cases", ()):
            (framework,) = case["for"]
            yield from _of(case, document["id"], framework)
        for step in document.get("steps", ()):
            yield from _of(step, "rewrite", document["framework"])


def _of(part, rule, framework):
    for row in part.get("evidence", ()):
        line = int(str(row["lines"]).split("-")[0])
        yield Anchor(rule, part["id"], framework, row["repo"], row["commit"], row["path"], line,
                     row.get("kind", ""))
