"""From which release on the keys exist that a case reads.

A case is not to be judged in a release that lacks one of its keys: absent would read as null, which is
not what upstream's statement saw there. A key that the case itself allows to be absent, as in
`version in (1, null)`, does not count."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


class KeyHistory:
    def __init__(self, framework):
        self.versions, self.first, section = [], {}, ""
        path = ROOT / f"rules/schema/{framework}.yaml"
        for line in path.read_text().splitlines():
            if line.endswith(":") and not line.startswith("-"):
                section = line[:-1]
            elif line.startswith("- "):
                row = json.loads(line[2:])
                if section == "versions":
                    self.versions.append(row["version"])
                elif section in ("keys", "fields", "options", "leaves", "sections"):
                    name = row.get("name") or row.get("dest") or row.get("key") or row.get("section")
                    runs = row.get("in", self.versions[0]).split()
                    since = self.versions.index(runs[0].partition("..")[0])
                    last = (name or "").rpartition(".")[2]
                    self.first[last] = min(since, self.first.get(last, since))

    def since(self, case):
        """The index of the release that first has all keys of a case (0: all have them)."""
        text = " ".join([str(case.get("when", "")), str(case.get("require", "")),
                         *map(str, (case.get("let") or {}).values())])
        text = re.sub(r'"[^"]*"', '""', text)
        may_be_absent = set(re.findall(r"([\w.]+) in \([^()]*\bnull\b[^()]*\)", text))
        names = set(re.findall(r"[A-Za-z_][\w.]*", text)) - may_be_absent
        return max((self.first.get(name.rpartition(".")[2], 0) for name in names), default=0)

    def allows_absent(self, case):
        return bool(re.search(r" in \([^()]*\bnull\b", f"{case.get('when', '')} {case.get('require', '')}"))
