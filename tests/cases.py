"""Cases distilled from public bug reports ($SHARDLINT_CASES), each with what must, or must not, be
said and where. tests/cases.yaml maps what a case expects to our codes. Skipped, saying so, where
the cases are not there."""
import json
import os
import pathlib
import subprocess
import sys

import tap
from case_words import assumptions, outside

try:
    import yaml
except ImportError:
    yaml = None

binary, table_path = (pathlib.Path(word).resolve() for word in sys.argv[1:3])


def load(path):
    return yaml.safe_load(path.read_text())


def lint(path, words):
    done = subprocess.run([str(binary), 'check', '--isolated', '--output-format', 'json', *words,
                           path.name], env=outside, cwd=path.parent, capture_output=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr.decode()[-2000:]
    return json.loads(done.stdout)['diagnostics']


def said(diagnostics):
    return ', '.join(f"{d['code']} line {(d['location'] or {}).get('row')} {d['severity']} {d['verdict']}"
                     for d in diagnostics) or 'nothing'


def lines_beside(found):
    return {note['location']['row'] for note in found['related'] if note['location']}


def clean(row, diagnostics):
    loud = [d for d in diagnostics if d['severity'] != 'info' and d['verdict'] == 'violation'
            and d['code'] not in row.get('also_true', {})]
    assert not loud, f'expected neither error nor warning, got {said(loud)}'


def violation(expect, row, diagnostics):
    counted, first = [], None
    for wanted in expect['diagnostics']:
        line = wanted['line']
        if wanted['role'] == 'related':
            continue
        code = row['codes'][wanted['key']]
        severity = 'warning' if wanted['role'] == 'secondary' else expect['severity']
        match = [d for d in diagnostics if d['code'] == code and d['location']['row'] == line
                 and d['severity'] == severity and d['verdict'] == 'violation']
        assert match, f'expected {code} {severity} at line {line}, got {said(diagnostics)}'
        counted += match
        first = first or match[0]
    beside = [w for w in expect['diagnostics'] if w['role'] == 'related']
    missing = [w['key'] for w in beside
               if not any(w['line'] in lines_beside(d) | {d['location']['row']} for d in counted)]
    assert not missing, f'not pointed at beside the finding: {missing}'
    also = row.get('also_true', {})
    other = [d for d in diagnostics if d['severity'] == 'error' and d not in counted
             and d['code'] not in also]
    assert not other, f'errors that nobody expects: {said(other)}'


def case(path):
    expect, row = load(path), table.get(path.name.split('-')[0], {})
    words = assumptions(expect) + row.get('words', [])
    diagnostics = lint(path.parent / expect['input'], words)
    if expect['expect'] == 'clean':
        clean(row, diagnostics)
    else:
        violation(expect, row, diagnostics)
        if 'open' in row:  # what is said without --closed-world
            open_words = [w for w in words if w != '--closed-world']
            seen = lint(path.parent / expect['input'], open_words)
            wanted = set(row['codes'].values())
            got = {f"{d['severity']} {d['verdict']}" for d in seen if d['code'] in wanted}
            assert got == {row['open']}, f"without --closed-world: {got}"


def missing():
    raise tap.Skip('SHARDLINT_CASES is not set' if yaml else 'PyYAML is not installed')


folder = os.environ.get('SHARDLINT_CASES')
if not folder or not yaml:
    tap.run([('recorded cases', missing)])
else:
    table = load(table_path)
    files = sorted(pathlib.Path(folder).glob('*.expect.yaml'))
    tap.run([(f.name.removesuffix('.expect.yaml'), lambda f=f: case(f)) for f in files])
