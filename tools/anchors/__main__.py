"""Re-checks every evidence anchor of every rule and rewrite against checkouts of upstream.

usage: tools/anchors [--rules DIR] [--known FILE] REPOSITORY=CHECKOUT...
       tools/anchors --learn REPOSITORY=CHECKOUT...
  for example NVIDIA/Megatron-LM=../Megatron-LM

What stood at an anchor when the rule was written is kept as digests in known.tsv, so that a newer
checkout can be compared without the old one; --learn writes it, from checkouts of the commits that
the rules name. Verdicts: same; moved (the statement stands elsewhere: in the file, or in another);
changed (a statement of the same kind and condition stands in the same function); gone.
Prints what is not the same, then the rules to review, then totals. Exit code 1: something to review.
"""
import argparse
import collections
import pathlib
import sys

import evidence
from statements import digest, read

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELDS = ("repo", "path", "line", "function", "kind", "text", "condition")
Known = collections.namedtuple("Known", FIELDS)


class Tree:
    """The files of one checkout, read when they are asked for."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self._files = {}
        self._elsewhere = None

    def file(self, path):
        if path not in self._files:
            try:
                self._files[path] = read(path, (self.folder / path).read_text())
            except (OSError, SyntaxError, UnicodeDecodeError):
                self._files[path] = None
        return self._files[path]

    def elsewhere(self, text):
        """(path, line) of a statement with this digest in any Python file of the checkout."""
        if self._elsewhere is None:
            self._elsewhere = {}
            for found in sorted(self.folder.rglob("*.py")):
                path = found.relative_to(self.folder).as_posix()
                if not path.startswith((".", "tests/")) and self.file(path):
                    for statement in self.file(path).all:
                        self._elsewhere.setdefault(digest(statement.text), (path, statement.line))
        return self._elsewhere.get(text)


def learn(anchors, trees):
    rows = {}
    for a in anchors:
        tree = trees.get(a.repo)
        statements = tree.file(a.path) if tree else None
        found = statements.at(a.line) if statements else None
        if found is None:
            print(f"{a.rule} {a.case}: nothing stands at {a.repo} {a.path}:{a.line}")
            continue
        rows[a.repo, a.path, a.line] = Known(a.repo, a.path, str(a.line), found.function or "-",
                                             found.kind, digest(found.text),
                                             digest(found.condition))
    return [rows[key] for key in sorted(rows)]


def verdict(known, tree):
    """('same' | 'moved' | 'changed' | 'gone', place or '')"""
    statements, line = tree.file(known.path), int(known.line)
    if statements:
        here = statements.at(line)
        if here and digest(here.text) == known.text:
            return "same", ""
        equal = [s for s in statements.all if digest(s.text) == known.text]
        if equal:
            near = min(equal, key=lambda s: abs(s.line - line))
            return "moved", f"{known.path}:{near.line}"
    other = tree.elsewhere(known.text) if known.path.endswith(".py") else None
    if other:
        return "moved", "%s:%d" % other
    for s in statements.all if statements else ():
        if (s.function or "-") == known.function and s.kind == known.kind \
                and digest(s.condition) == known.condition and known.kind != "line":
            return "changed", f"{known.path}:{s.line}"
    return "gone", ""


def check(anchors, known, trees):
    totals, review, lines = collections.Counter(), {}, []
    for a in anchors:
        if a.repo not in trees:
            totals["without a checkout"] += 1
            continue
        row = known.get((a.repo, a.path, str(a.line)))
        word, place = verdict(row, trees[a.repo]) if row else ("unlearnt", "")
        totals[word] += 1
        if word != "same":
            where = f" to {place}" if word == "moved" else f", see {place}" if place else ""
            lines.append(f"{a.rule} {a.case}: {a.path}:{a.line} {word}{where}")
        if word in ("changed", "gone", "unlearnt"):
            review.setdefault(a.rule if a.rule != "rewrite" else f"rewrite {a.case}", word)
    return lines, review, totals


def main(argv):
    parser = argparse.ArgumentParser(prog="tools/anchors")
    parser.add_argument("checkouts", nargs="+", metavar="REPOSITORY=CHECKOUT")
    parser.add_argument("--rules", default=ROOT / "rules")
    parser.add_argument("--known", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent / "known.tsv")
    parser.add_argument("--learn", action="store_true")
    args = parser.parse_args(argv)
    trees = {repo: Tree(folder) for repo, folder in (c.split("=", 1) for c in args.checkouts)}
    anchors = list(evidence.anchors(args.rules))
    if args.learn:
        rows = learn(anchors, trees)
        args.known.write_text("".join("\t".join(row) + "\n" for row in rows))
        print(f"{len(rows)} anchors learnt")
        return 0
    known = {}
    for line in args.known.read_text().splitlines():
        row = Known(*line.split("\t"))
        known[row.repo, row.path, row.line] = row
    lines, review, totals = check(anchors, known, trees)
    for line in lines:
        print(line)
    print("rules to review:", ", ".join(sorted(review)) or "none")
    for word, count in sorted(totals.items()):
        print(f"{word}: {count}")
    return bool(review)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
