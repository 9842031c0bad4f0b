"""Which of many executed cases a record keeps: every statement and every rewrite often enough."""
import collections

REJECTED = 0.55  # of the cases asked for; more where many statements are to be shown
OFTEN = 10       # times that a statement or a rewritten key is kept where the pool has it


def place(result):
    return result.get("anchor") or result.get("stage")


def rejected(results, wanted, rng):
    """The rarest statements first; then all statements evenly."""
    groups = collections.defaultdict(list)
    for result in results:
        groups[place(result)].append(result)
    cap = OFTEN
    while sum(min(len(g), cap) for g in groups.values()) < min(wanted, len(results)):
        cap += 1
    kept = [r for name in sorted(groups, key=str)
            for r in rng.sample(groups[name], min(cap, len(groups[name])))]
    return kept if len(kept) <= wanted or cap == OFTEN else rng.sample(kept, wanted)


def accepted(results, wanted, rng, rewrites):
    """Those that show rare rewrites first, then any."""
    seen, kept, rest = collections.Counter(), [], []
    total = collections.Counter(key for r in results for key in rewrites(r))
    for result in sorted(results, key=lambda r: min((total[k] for k in rewrites(r)), default=1 << 30)):
        if len(kept) < wanted * 0.7 and any(seen[k] < OFTEN for k in rewrites(result)):
            kept.append(result)
            seen.update(list(rewrites(result)))
        else:
            rest.append(result)
    return kept + rng.sample(rest, min(len(rest), max(0, wanted - len(kept))))


def choose(results, wanted, rng, rewrites):
    no = [r for r in results if r["verdict"] == "reject"]
    yes = [r for r in results if r["verdict"] == "accept"]
    kept = rejected(no, int(wanted * REJECTED), rng)
    kept += accepted(yes, max(wanted - len(kept), int(wanted * (1 - REJECTED))), rng, rewrites)
    rng.shuffle(kept)
    return kept
