"""Fixes of the cases distilled from public bug reports ($SHARDLINT_CASES): after
`--fix --unsafe-fixes` on a copy the expected finding is gone, no new error is there, the lines of
tests/case_fixes.yaml have changed and no others, and a second run changes nothing. Skipped, saying
so, where the cases are not there."""
import difflib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

import tap
from case_words import assumptions, outside

try:
    import yaml
except ImportError:
    yaml = None

binary, codes_path, fixes_path = (pathlib.Path(word).resolve() for word in sys.argv[1:4])


def check(folder, name, *words):
    done = subprocess.run([str(binary), 'check', '--isolated', '--output-format', 'json', *words, name],
                          env=outside, cwd=folder, capture_output=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr.decode()[-2000:]
    return json.loads(done.stdout)['diagnostics']


def changed_lines(before, after):
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines())
            if line[:2] in ('- ', '+ ')]


def errors(diagnostics):
    return {(d['code'], (d['key'] or {}).get('path')) for d in diagnostics
            if d['severity'] == 'error' and d['verdict'] == 'violation'}


def round_trip(case, expect, codes, wanted):
    words = ['--closed-world', *assumptions(expect)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, case.name)
        shutil.copyfile(case, path)
        path.chmod(0o754)
        before = check(folder, case.name, *words)
        assert codes & {d['code'] for d in before}, f'{codes} are not found'
        selected = ['--select', ','.join(sorted(codes))]
        found = [d for d in check(folder, case.name, *words, *selected) if d['code'] in codes]
        if isinstance(wanted, dict):
            able = [d['code'] for d in found if any(f['applicability'] != 'display' for f in d['fixes'])]
            assert not able, f'{able} have a fix now; tests/case_fixes.yaml says there is none'
            return
        check(folder, case.name, *words, *selected, '--fix', '--unsafe-fixes')
        after = check(folder, case.name, *words)
        left = codes & {d['code'] for d in after}
        assert not left, f'{left} are still there'
        assert errors(after) <= errors(before), f'new: {errors(after) - errors(before)}'
        lines = [line[0] + line[2:] for line in changed_lines(case.read_text(), path.read_text())]
        assert lines == wanted, 'changed:\n' + '\n'.join(lines)
        assert stat.S_IMODE(path.stat().st_mode) == 0o754, 'permissions have changed'
        text = path.read_bytes()
        check(folder, case.name, *words, *selected, '--fix', '--unsafe-fixes')
        assert text == path.read_bytes(), 'a second run changes it again'
        # All fixes together: nothing new either.
        check(folder, case.name, *words, '--fix', '--unsafe-fixes')
        whole = check(folder, case.name, *words)
        assert errors(whole) <= errors(before) and not codes & {d['code'] for d in whole}


def missing():
    raise tap.Skip('SHARDLINT_CASES is not set' if yaml else 'PyYAML is not installed')


def points():
    folder = os.environ.get('SHARDLINT_CASES')
    if not folder or yaml is None:
        return [('fixes of the cases', missing)]
    codes, fixes = (yaml.safe_load(path.read_text()) for path in (codes_path, fixes_path))
    out = []
    for path in sorted(pathlib.Path(folder).glob('*.expect.yaml')):
        expect = yaml.safe_load(path.read_text())
        if expect['expect'] == 'violation':
            number = path.name[:2]
            none = fixes[number].get('none') if isinstance(fixes[number], dict) else ''
            out.append((f'{path.name[:-12]}{none and ": no fix, " + none}',
                        lambda c=path.with_name(expect['input']), e=expect, n=number:
                        round_trip(c, e, set(codes[n]['codes'].values()), fixes[n])))
    return out


if __name__ == '__main__':
    tap.run(points())
