"""Runs on material that lies beside the checkout: real configurations (SHARDLINT_CORPUS) and recorded
cases (SHARDLINT_CASES). Skipped, saying so, where it is not there."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import tap

binary, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
outside = {k: v for k, v in os.environ.items()
           if not k.startswith('SHARDLINT_') and k != 'NO_COLOR'}


def folder(name):
    if not os.environ.get(name):
        raise tap.Skip(f'{name} is not set')
    return pathlib.Path(os.environ[name])


def lint(*words, cwd=None):
    done = subprocess.run([str(binary), 'check', *map(str, words)], env=outside, cwd=cwd,
                          capture_output=True, timeout=300)
    assert done.returncode in (0, 1), f'exit code {done.returncode}: {done.stderr.decode()[-2000:]}'
    return done.stdout


def same_for_any_jobs():
    corpus = folder('SHARDLINT_CORPUS')
    for form in ('json', 'full'):
        outputs = {lint('--jobs', jobs, '--output-format', form, corpus) for jobs in (1, 8, 8)}
        assert len(outputs) == 1, f'{form} differs between runs'


def schemas():
    corpus = folder('SHARDLINT_CORPUS')
    try:
        import jsonschema
    except ImportError as missing:
        raise tap.Skip(str(missing))
    report = json.loads(lint('--output-format', 'json', corpus))
    schema = json.loads((root / 'docs' / 'shardlint-output.schema.json').read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    assert report['summary']['files'] > 100, report['summary']
    log = json.loads(lint('--output-format', 'sarif', '--sarif-unknowns', corpus))
    sarif = json.loads((root / 'tests' / 'schemas' / 'sarif-2.1.0.json').read_text())
    jsonschema.Draft4Validator(sarif).validate(log)
    prints = [r['partialFingerprints']['shardlint/v1'] for r in log['runs'][0]['results']]
    assert len(prints) == len(set(prints)), 'fingerprints are not unique'
    for d in report['diagnostics']:  # every place is where it says
        if d['filename'] and d['location']:
            text = pathlib.Path(d['filename']).read_bytes()
            assert text[:d['location']['offset']].count(b'\n') + 1 == d['location']['row'], d


def violations(cases):
    for expect in sorted(cases.glob('*.expect.yaml')):
        text = expect.read_text()
        if re.search(r'^expect: violation', text, re.M):
            yield cases / re.search(r'^input: (\S+)', text, re.M).group(1)


def errors(path):
    report = json.loads(lint('--closed-world', '--output-format', 'json', path.name, cwd=path.parent))
    return [(d['code'], (d['key'] or {}).get('path')) for d in report['diagnostics']
            if d['severity'] == 'error' and d['verdict'] == 'violation'], report


def fix_round_trip():
    fixed = []
    for case in violations(folder('SHARDLINT_CASES')):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / case.name
            shutil.copyfile(case, path)
            before, report = errors(path)
            fixable = [d for d in report['diagnostics']
                       if d['verdict'] == 'violation' and d['fixes'] and d['fixes'][0]['edits']]
            lint('--closed-world', '--fix-only', '--unsafe-fixes', path.name, cwd=scratch)
            after, left = errors(path)
            assert set(after) <= set(before), f'{case.name}: new errors {set(after) - set(before)}'
            old, new = case.read_text().splitlines(), path.read_text().splitlines()
            if old != new:
                fixed.append(case.name)
                gone = len(set(old) - set(new))
                assert gone <= 2 * len(fixable), f'{case.name}: {gone} lines changed'
                again = path.read_bytes()
                lint('--closed-world', '--fix-only', '--unsafe-fixes', path.name, cwd=scratch)
                assert again == path.read_bytes(), f'{case.name}: a second run changes it again'
    print(f'# fixed: {", ".join(fixed) or "none"}')


def ten_thousand_files():
    text = (root / 'fixtures' / 'examples' / 'sound-functional-test.yaml').read_text()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(10_000):
            path = pathlib.Path(scratch, f'{number // 100:03}')
            path.mkdir(exist_ok=True)
            (path / f'{number:05}.yaml').write_text(text)
        start = time.monotonic()
        report = json.loads(lint('--output-format', 'json', scratch))
        seconds = time.monotonic() - start
        assert report['summary']['files'] == 10_000
        print(f'# 10,000 files in {seconds:.1f} s')
        assert seconds < 60, f'{seconds:.1f} s'  # the goal is 5 s on two idle cores


tap.run([
    ('the same bytes for 1 and 8 jobs', same_for_any_jobs),
    ('reports of real files are valid, with unique fingerprints and true places', schemas),
    ('fixes of the recorded cases', fix_round_trip),
    ('ten thousand files', ten_thousand_files),
])
