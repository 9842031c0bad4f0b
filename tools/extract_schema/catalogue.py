"""The shared form of rules/schema/*.yaml: rows valid for ranges of versions, one row a line.

Every line of a section is `- {JSON}`, which is YAML too: people read it, the build reads it with
the standard library alone."""
import json


class Rows:
    """Rows of one section, merged over the versions in which they are equal."""

    def __init__(self, versions, identity, carried=("at",)):
        self.versions, self.identity, self.carried = versions, identity, carried
        self.rows = {}   # frozen row -> [row, set of version indices]
        self.order = {}

    def add(self, version, row):
        key = json.dumps({k: v for k, v in row.items() if k not in self.carried}, sort_keys=True)
        name = self.identity(row)
        self.order.setdefault(name, len(self.order))
        if key not in self.rows:
            self.rows[key] = [row, set()]
        entry = self.rows[key]
        if not entry[1] or version > max(entry[1]):
            entry[0] = row  # anchors are those of the newest version that has it
        entry[1].add(version)

    def sorted(self):
        items = sorted(self.rows.values(),
                       key=lambda e: (self.order[self.identity(e[0])], max(e[1])))
        for row, where in items:
            yield {**row, **self.range(where)}

    def range(self, where):
        """`in`: absent for all versions, else runs such as 0.15.0..0.18.2."""
        if len(where) == len(self.versions):
            return {}
        runs, ordered = [], sorted(where)
        start = previous = ordered[0]
        for index in ordered[1:] + [None]:
            if index is not None and index == previous + 1:
                previous = index
                continue
            a, b = self.versions[start], self.versions[previous]
            runs.append(a if a == b else f"{a}..{b}")
            start = previous = index
        return {"in": " ".join(runs)}


def write(path, head, sections):
    """head: list of comment and scalar lines; sections: {name: iterable of rows}."""
    with open(path, "w", encoding="utf-8") as file:
        for line in head:
            file.write(line + "\n")
        for name, rows in sections.items():
            file.write(f"{name}:\n")
            for row in rows:
                file.write("- " + json.dumps(row, ensure_ascii=False) + "\n")


def read(path):
    """{section: [rows]}; scalars of the head under their own names."""
    out, section = {}, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("- "):
                if section is None:
                    raise ValueError(f"{path}:{number}: a row outside a section")
                out[section].append(json.loads(line[2:]))
                continue
            name, _, value = line.partition(":")
            value = value.strip()
            if value:
                out[name], section = value, None
            else:
                out[name], section = [], name
    return out
