"""Records what upstream's own code says of configurations that are made up around valid ones.

usage: tools/record FRAMEWORK --checkout NAME=FOLDER... --seed N [--cases N] [--pool N] --out FILE
       tools/record FRAMEWORK --checkout NAME=FOLDER... --replay FILE
  FRAMEWORK  megatron-lm, megatron-bridge (needs the checkout megatron-lm too) or verl (both too)
  --pool     cases that are executed; of them about --cases are kept, rare statements and rewrites
             first
  --replay   executes the cases of a record again and says which verdicts differ: of another
             recorder, of another version of upstream

Upstream's validators are executed; torch and everything else that is large or absent is a stand-in
(stand_ins.py), so that a CPU is enough. Needs packaging, PyYAML and NumPy; verl needs hydra-core too.
The same seed makes the same record. build/conformance FILE compares it with the rules.
"""
import argparse
import gzip
import importlib
import json
import random
import sys

from choose import choose
from write import summary, write

MODULES = {"megatron-lm": "megatron_lm", "megatron-bridge": "megatron_bridge",
           "verl": "verl_recorder"}  # `verl` itself is upstream's


ANSWERS = ("verdict", "stage", "anchor", "type", "via", "chain", "warnings", "overrides", "rewrites")


def replay(recorder, path, first):
    with gzip.open(path, "rt") as lines:
        header, *rows = map(json.loads, lines)
    different = 0
    for row in rows[:first]:
        asked = {k: v for k, v in row.items() if k == "overrides" and recorder.framework == "verl"
                 or k not in ANSWERS}
        result = recorder.run(asked)
        was, now = ((r["verdict"], r.get("anchor")) if r else None for r in (row, result))
        if was != now:
            different += 1
            print(row["id"], "was", was, "is", now, (result or {}).get("text", ""))
    print(f"{len(rows[:first])} replayed, {different} differ")


def main():
    parser = argparse.ArgumentParser(prog="tools/record")
    parser.add_argument("framework", choices=list(MODULES))
    parser.add_argument("--checkout", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--pool", type=int, default=12000)
    parser.add_argument("--half", default="", help="what the record is for: tuned or untouched")
    parser.add_argument("--out")
    parser.add_argument("--replay")
    parser.add_argument("--first", type=int, help="of --replay: so many cases")
    args = parser.parse_args()
    module = importlib.import_module(MODULES[args.framework])
    recorder = module.Recorder(dict(c.split("=", 1) for c in args.checkout))
    if args.replay:
        return replay(recorder, args.replay, args.first)
    rng = random.Random(args.seed)
    results = []
    for _ in range(args.pool):
        result = recorder.run(recorder.make(rng))
        if result is not None:
            results.append(result)
    kept = choose(results, args.cases, rng, recorder.rewrites)
    header = {"record": args.framework, "stages": recorder.stages, "note": recorder.note,
              "seed": args.seed, "half": args.half, "cases": len(kept), **recorder.header()}
    write(args.out, header, kept, args.seed)
    print(f"{args.out}: {summary(kept)}", file=sys.stderr)


if __name__ == "__main__":
    main()
