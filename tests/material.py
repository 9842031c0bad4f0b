"""Runs on material that lies beside the checkout: real configurations (SHARDLINT_CORPUS) and recorded
cases (SHARDLINT_CASES). Skipped, saying so, where it is not there."""
import json
import os
import pathlib
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
    ('ten thousand files', ten_thousand_files),
])
