"""The closing line of ./dev test: `N passed, N failed, N skipped`, from Meson's log.

A doctest program counts its cases, a TAP program its points, any other test is one.
"""
import json
import pathlib
import re
import sys

DOCTEST = re.compile(r'\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed')
TAP = re.compile(r'^(not )?ok\b[^#\n]*(?:# *(skip|todo)\b[^\n]*)?', re.I | re.M)


def count(test):
    """(passed, failed, skipped) of one Meson test."""
    output, result = test.get('stdout') or '', test['result']
    good = result in ('OK', 'EXPECTEDFAIL')
    doctest = DOCTEST.findall(output)
    if doctest:
        passed = sum(int(row[1]) for row in doctest)
        failed = sum(int(row[2]) for row in doctest)
        return passed, failed if failed or good else 1, 0
    points = TAP.findall(output) if re.search(r'^1\.\.\d+', output, re.M) else []
    if points:
        skipped = sum(1 for _, directive in points if directive)
        failed = sum(1 for bad, directive in points if bad and not directive)
        return (len(points) - failed - skipped, failed if failed or good or result == 'SKIP' else 1,
                skipped)
    if result == 'SKIP':
        reason = next((line for line in output.splitlines() if 'skip' in line.lower()), 'no reason')
        print(f'{test["name"]}: {reason}')
        return 0, 0, 1
    return (1, 0, 0) if good else (0, 1, 0)


def main():
    log = pathlib.Path(sys.argv[1])
    lines = log.read_text().splitlines() if log.exists() else []
    totals = [sum(column) for column in zip(*(count(json.loads(line)) for line in lines))] or [0, 0, 0]
    passed, failed, skipped = totals
    print(f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else ''))
    return failed > 0 or passed == 0


sys.exit(main())
