"""A test script's points in the Test Anything Protocol."""
import sys
import traceback


class Skip(Exception):
    """Raised with the reason when something that a test needs is not there."""


def run(cases):
    """Runs (name, function) pairs, prints TAP, and exits."""
    cases = list(cases)
    print(f'1..{len(cases)}')
    failed = 0
    for number, (name, test) in enumerate(cases, 1):
        try:
            test()
            print(f'ok {number} - {name}')
        except Skip as why:
            print(f'ok {number} - {name} # SKIP {why}')
        except Exception:  # an assertion, or a program that could not be run
            failed += 1
            print(f'not ok {number} - {name}')
            traceback.print_exc()
        sys.stdout.flush()
    sys.exit(failed > 0)
