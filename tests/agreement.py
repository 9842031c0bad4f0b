"""Agreement with recorded verdicts of upstream's own code must not fall below what was reached.

usage: agreement.py CONFORMANCE RECORDS
"""
import concurrent.futures
import pathlib
import subprocess
import sys

# record -> figure -> (at least, at most). Records named `tuned` and the first of each framework are
# looked at when rules are written; of those named `untouched` only the totals are, so that they say how
# the rules do on what nobody has seen. Floors, not goals: they are raised when more is reached.
ALL = {'flagged_at_anchor_percent': (99, 100), 'false_errors': (0, 0), 'parse_missed': (0, 0),
       'rewrite_recall_percent': (95, 100), 'rewrite_precision_percent': (95, 100)}
DEMANDS = {
    'megatron-lm-d98e8a64.jsonl.gz': ALL,
    'megatron-lm-d98e8a64-tuned.jsonl.gz': ALL,
    'megatron-lm-d98e8a64-untouched.jsonl.gz': ALL,
    'megatron-bridge-067f987.jsonl.gz': {**ALL, 'flagged_at_anchor_percent': (98, 100)},
    'megatron-bridge-067f987-tuned.jsonl.gz': {**ALL, 'flagged_at_anchor_percent': (98, 100)},
    'megatron-bridge-067f987-untouched.jsonl.gz': {**ALL, 'flagged_at_anchor_percent': (97, 100)},
    'verl-1dda039.jsonl.gz': {
        'flagged_at_anchor_percent': (100, 100), 'false_errors': (0, 0), 'parse_missed': (0, 0),
        'rewrite_recall_percent': (100, 100), 'rewrite_precision_percent': (100, 100)},
    'verl-1dda039-tuned.jsonl.gz': {
        'flagged_at_anchor_percent': (97.7, 100), 'false_errors': (0, 0), 'parse_missed': (0, 0),
        'rewrite_recall_percent': (100, 100), 'rewrite_precision_percent': (100, 100)},
    'verl-1dda039-untouched.jsonl.gz': {
        'flagged_at_anchor_percent': (95, 100), 'false_errors': (0, 0), 'parse_missed': (0, 0),
        'rewrite_recall_percent': (94.4, 100), 'rewrite_precision_percent': (100, 100)},
}


def figures(program, record):
    out = subprocess.run([program, record, '--list', '0'], capture_output=True, text=True, check=True)
    rows = dict(line.split(': ', 1) for line in out.stdout.splitlines() if ': ' in line)
    got = {name: float(value) for name, value in rows.items()}
    got['parse_missed'] = got['rejected_at_parse'] - got['flagged_at_parse']
    return got


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    count, failed = 0, False
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(DEMANDS, pool.map(lambda r: figures(program, str(folder / r)), DEMANDS)))
    for record, demands in DEMANDS.items():
        got = found[record]
        for name, (least, most) in demands.items():
            count += 1
            ok = least <= got[name] <= most
            failed = failed or not ok
            print(f"{'ok' if ok else 'not ok'} {count} - {record} {name}: {got[name]:g}")
    print(f'1..{count}')
    return failed


sys.exit(main())
