"""In which releases the statement of each rule case and rewrite stands: writes their version ranges.

usage: tools/anchors/versions.py [--dry] REPOSITORY=GIT_DIR...
  for example NVIDIA/Megatron-LM=../Megatron-LM/.git

The releases are those of rules/schema/*.yaml; Megatron-Bridge's are read with the Megatron-LM commit
that each pins. A case loses a release only where its statement is surely absent from that release's
whole source: neither its text, nor (of an assert) its condition, nor (of an error or warning) a
message like its own, nor (of a rewrite) any assignment to its target; and where one of the case's keys does
not exist. Everything else keeps the case. A range is only ever narrowed.
"""
import ast
import collections
import difflib
import functools
import json
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

import yaml

import evidence
from key_history import KeyHistory
from statements import Statements, digest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {"NVIDIA/Megatron-LM": ("megatron/",), "NVIDIA-NeMo/Megatron-Bridge": ("src/",),
           "verl-project/verl": ("verl/",)}
OWN = {"megatron-lm": "NVIDIA/Megatron-LM", "megatron-bridge": "NVIDIA-NeMo/Megatron-Bridge",
       "verl": "verl-project/verl"}
SPEAKING = 16  # characters of a message from which on it tells statements apart
CACHE = pathlib.Path(tempfile.gettempdir()) / "shardlint-statements"


def releases(framework):
    """[(version, {repository: commit})], oldest first"""
    out, section = [], ""
    for line in (ROOT / f"rules/schema/{framework}.yaml").read_text().splitlines():
        if line.endswith(":") and not line.startswith("-"):
            section = line[:-1]
        elif section == "versions" and line.startswith("- "):
            row = json.loads(line[2:])
            commits = {OWN[framework]: row["commit"]}
            if "megatron_lm" in row:
                commits["NVIDIA/Megatron-LM"] = row["megatron_lm"]
            out.append((row["version"], commits))
    return out


Facts = collections.namedtuple("Facts", "texts conditions messages targets")


def targets_of(node):
    """The last names that are assigned to, also through setattr and by keyword."""
    return {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node)
            if isinstance(n, (ast.Attribute, ast.Name)) and isinstance(n.ctx, ast.Store)}


def facts_of(text):
    facts = Facts(set(), set(), set(), set())
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return facts
    for s in Statements(text).all:
        facts.texts.add(digest(s.text))
        if s.kind == "assert":
            facts.conditions.add(digest(s.condition))
        if s.kind in ("assert", "raise", "expr") and len(s.words) >= SPEAKING:
            facts.messages.add(s.words)
    facts.targets.update(targets_of(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            facts.targets.update(a.value for a in node.args[1:2] if isinstance(a, ast.Constant))
    return facts


class Release:
    """The statements of one commit's source."""

    def __init__(self, git_dir, repo, commit):
        listing = git(git_dir, "ls-tree", "-r", commit, *SOURCES[repo]).decode().splitlines()
        blobs = [line.split()[2] for line in listing if line.endswith(".py")]
        parts = [blob_facts(git_dir, blob) for blob in blobs]
        self.facts = Facts(*(set().union(*(p[i] for p in parts)) for i in range(4)))

    @functools.lru_cache(maxsize=None)
    def says(self, words):
        return words in self.facts.messages or any(
            alike(words, m) and difflib.SequenceMatcher(None, words, m).ratio() > 0.75
            for m in self.facts.messages)


def alike(a, b):
    """A cheap look before the exact comparison: messages that share most of their words."""
    first, second = vocabulary(a), vocabulary(b)
    return len(first & second) >= 0.4 * max(len(first), len(second))


@functools.lru_cache(maxsize=None)
def vocabulary(text):
    return frozenset(text.lower().split())


def git(git_dir, *args):
    return subprocess.run(["git", "-C", git_dir, *args], check=True, capture_output=True).stdout


@functools.lru_cache(maxsize=None)
def blob_facts(git_dir, blob):
    kept = CACHE / blob
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    facts = facts_of(git(git_dir, "cat-file", "blob", blob).decode(errors="replace"))
    CACHE.mkdir(exist_ok=True)
    kept.write_bytes(pickle.dumps(facts))
    return facts


def witnesses(text, line):
    """What shows that the statement at a line is there: [('text' | 'condition' | 'message' |
    'target', value)], or [] where nothing would show that it is absent."""
    statements = Statements(text)
    here = statements.at(line)
    if here is None or here.kind not in ("assert", "raise", "if", "expr", "assign", "annassign"):
        return []
    out = [("text", digest(here.text))]
    related = [here]
    if here.kind == "if":  # what it guards
        related = [s for s in statements.all if s.line > here.line and s.function == here.function][:2]
        out += [("text", digest(s.text)) for s in related]
    for s in related:
        if s.kind == "assert":
            out.append(("condition", digest(s.condition)))
        if s.kind in ("assert", "raise", "expr") and len(s.words) >= SPEAKING:
            out.append(("message", s.words))
        if s.kind in ("assign", "annassign", "expr"):
            named = targets_of(ast.parse(s.text))
            if s.kind == "expr" and not any(kind == "message" for kind, _ in out):
                return []  # a call without a message may be spelt in many ways
            out += [("target", name) for name in named]
    if here.kind == "raise" and not any(kind == "message" for kind, _ in out):
        return []
    return out


def stands(release, shown):
    facts = release.facts
    return any(value in facts.texts if kind == "text" else value in facts.conditions
               if kind == "condition" else value in facts.targets if kind == "target"
               else release.says(value) for kind, value in shown)


class Judge:
    def __init__(self, git_dirs):
        self.git_dirs = git_dirs
        self._releases = {}

    def release(self, repo, commit):
        if (repo, commit) not in self._releases:
            self._releases[repo, commit] = Release(self.git_dirs[repo], repo, commit)
        return self._releases[repo, commit]

    @functools.lru_cache(maxsize=None)
    def shown(self, anchor_repo, commit, path, line):
        text = git(self.git_dirs[anchor_repo], "show", f"{commit}:{path}").decode()
        return witnesses(text, line) if path.endswith(".py") else []

    def first(self, anchors):
        """The oldest release that has one of the statements, or None for all of them."""
        framework = anchors[0].framework
        code = [a for a in anchors if a.kind != "docs"]
        rows = releases(framework)
        if not code or any(a.repo not in rows[0][1] for a in code):
            return None
        shown = [(a.repo, self.shown(a.repo, a.commit, a.path, a.line)) for a in code]
        if not all(found for _, found in shown):
            return None
        for version, commits in rows:
            if any(stands(self.release(repo, commits[repo]), found) for repo, found in shown):
                return None if version == rows[0][0] else version
        raise SystemExit(f"{anchors[0]}: in no release, not even the newest")


def grouped():
    """(framework, rule, case) -> anchors"""
    out = {}
    for a in evidence.anchors(ROOT / "rules"):
        out.setdefault((a.framework, a.rule, a.case), []).append(a)
    return out


def cases():
    """(framework, rule, case) -> the case as it is written, for rules"""
    out = {}
    for path in sorted((ROOT / "rules").glob("*/*.yaml")):
        if path.parent.name not in ("schema", "rewrites"):
            document = yaml.load(path.read_text(), yaml.CSafeLoader)
            for case in document.get("cases", ()):
                (framework,) = case["for"]
                out[framework, document["id"], case["id"]] = case
    return out


def with_keys(found):
    """The ranges, none of which reaches back to a release that lacks a key of its case. A case that is
    in all releases keeps the empty range, unless it allows one of its keys to be absent: an empty one
    leaves out the releases that lack any key."""
    out = dict(found)
    history = {framework: KeyHistory(framework) for framework in OWN}
    for name, case in cases().items():
        past = history[name[0]]
        keys = past.since(case)
        if name in out:
            out[name] = past.versions[max(keys, past.versions.index(out[name]))]
        elif past.allows_absent(case):
            out[name] = past.versions[keys]
    return out


def write(found):
    """Ranges into the files: into the lines `for: {framework: ""}`, or with an older release."""
    changed = 0
    order = {framework: KeyHistory(framework).versions for framework in OWN}
    for path in sorted((ROOT / "rules").glob("*/*.yaml")):
        if path.parent.name == "schema":
            continue
        lines, rule, case, out = path.read_text().splitlines(), None, None, []
        framework = path.stem if path.parent.name == "rewrites" else None
        for index, line in enumerate(lines):
            if match := re.match(r"id: (\S+)", line):
                rule = match[1]
            if match := re.match(r"  - id: (\S+)", line):
                case = match[1]
                since = found.get((framework, "rewrite", case)) if framework else None
                out.append(line)
                if since and not lines[index + 1].startswith("    versions: "):
                    out.append(f'    versions: ">={since}"')
                    changed += 1
                continue
            match = re.match(r'    for: \{([\w-]+): "(?:>=([^",]+))?"\}$', line)
            since = match and found.get((match[1], rule, case))
            if since and (not match[2] or match[2] in order[match[1]]
                          and order[match[1]].index(match[2]) < order[match[1]].index(since)):
                line = f'    for: {{{match[1]}: ">={since}"}}'
                changed += 1
            out.append(line)
        path.write_text("\n".join(out) + "\n")
    return changed


def main(argv):
    dry = "--dry" in argv
    judge = Judge(dict(a.split("=", 1) for a in argv if "=" in a))
    found, totals = {}, collections.Counter()
    for (framework, rule, case), anchors in grouped().items():
        since = judge.first(anchors)
        totals[framework, since or "all"] += 1
        if since:
            found[framework, rule, case] = since
            if dry:
                print(framework, rule, case, f">={since}", anchors[0].path, anchors[0].line)
    if not dry:
        print("changed:", write(with_keys(found)))
    for (framework, since), count in sorted(totals.items()):
        print(f"{framework} {since}: {count}")


if __name__ == "__main__":
    main(sys.argv[1:])
