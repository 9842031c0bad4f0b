"""Records what upstream's own code says of configurations that are made up around valid ones.

usage: tools/record FRAMEWORK --checkout NAME=FOLDER... --seed N [--cases N] [--pool N] --out FILE
  FRAMEWORK  megatron-lm, megatron-bridge (needs the checkout megatron-lm too) or verl (both too)
  --pool     cases that are executed; of them --cases are kept, rare statements and rewrites first

Upstream's validators are executed; torch and everything else that is large or absent is a stand-in
(stand_ins.py), so that a CPU is enough. Needs packaging, PyYAML and NumPy; verl needs hydra-core too.
The same seed makes the same record. build/conformance FILE compares it with the rules.
"""
import argparse
import importlib
import random
import sys

from choose import choose
from write import summary, write


def main():
    parser = argparse.ArgumentParser(prog="tools/record")
    parser.add_argument("framework", choices=["megatron-lm", "megatron-bridge", "verl"])
    parser.add_argument("--checkout", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--pool", type=int, default=12000)
    parser.add_argument("--half", default="", help="what the record is for: tuned or untouched")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    module = importlib.import_module(args.framework.replace("-", "_"))
    recorder = module.Recorder(dict(c.split("=", 1) for c in args.checkout))
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
