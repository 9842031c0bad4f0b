"""A record: a first line that says what it is, then a case a line; compressed, the same every time."""
import collections
import gzip
import json


def write(path, header, cases, seed):
    with gzip.GzipFile(path, "wb", 9, mtime=0) as out:
        for number, row in enumerate([header] + cases):
            row = dict(row) if number == 0 else {**row, "id": f"s{seed}-{number - 1}"}
            out.write((json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n").encode())


def summary(cases):
    places = collections.Counter(c.get("anchor") or c.get("stage")
                                 for c in cases if c["verdict"] == "reject")
    often = sum(1 for n in places.values() if n >= 10)
    return (f"{len(cases)} cases, {sum(places.values())} rejected at {len(places)} statements, "
            f"{often} of them at least 10 times")
