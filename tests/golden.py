"""Runs the command line on folders of files: fixtures/cli/<case>/.

A case holds `args` (one command line a line, `$` alone for the binary is implied), its input files,
and what must come out: `stdout`, optionally `stderr` (must contain each of its lines) and `exit`
(default 0). Files named `NAME.after` say what NAME must be afterwards. `stdin`, when there, is
given. `dot-NAME` stands for `.NAME`. The case runs in a copy of its folder. With --accept the outcome is written as expected.
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import tap

accept = '--accept' in sys.argv
binary, cases = [a for a in sys.argv[1:] if not a.startswith('--')][:2]
binary = str(pathlib.Path(binary).resolve())
SPECIAL = ('args', 'stdout', 'stderr', 'exit', 'stdin', 'env')
clean = {k: v for k, v in os.environ.items()
         if not k.startswith('SHARDLINT_') and k not in ('NO_COLOR', 'FORCE_COLOR')}


def read(path, default=''):
    return path.read_text() if path.exists() else default


def run_case(case):
    with tempfile.TemporaryDirectory() as scratch:
        room = pathlib.Path(scratch) / 'case'
        shutil.copytree(case, room)
        expected_after = {}
        for path in sorted(room.rglob('*')):
            if path.is_file() and path.suffix == '.after':
                expected_after[path.relative_to(room).with_suffix('')] = path.read_bytes()
                path.unlink()
            elif path.name.startswith('dot-'):
                path.rename(path.with_name('.' + path.name[4:]))
        for name in SPECIAL:
            (room / name).unlink(missing_ok=True)
        environment = dict(clean)
        for line in read(case / 'env').split():
            name, _, value = line.partition('=')
            environment[name] = value
        stdout, stderr, code = '', '', 0
        for line in read(case / 'args').splitlines():
            done = subprocess.run([binary, *shlex.split(line)], cwd=room, env=environment,
                                  input=read(case / 'stdin'), capture_output=True, text=True,
                                  timeout=60)
            stdout, stderr, code = stdout + done.stdout, stderr + done.stderr, done.returncode
        if accept:
            (case / 'stdout').write_text(stdout)
            (case / 'exit').write_text(f'{code}\n')
            for name in expected_after:
                (case / f'{name}.after').write_bytes((room / name).read_bytes())
            return
        assert stdout == read(case / 'stdout'), f'stdout is:\n{stdout}\nstderr is:\n{stderr}'
        for line in read(case / 'stderr').splitlines():
            assert line in stderr, f'{line!r} is not in stderr:\n{stderr}'
        assert code == int(read(case / 'exit', '0')), f'exit code {code}, stderr:\n{stderr}'
        for name, text in expected_after.items():
            assert (room / name).read_bytes() == text, f'{name} is:\n{(room / name).read_text()}'


folders = sorted(p.parent for p in pathlib.Path(cases).rglob('args'))
tap.run([(str(folder.relative_to(cases)), lambda folder=folder: run_case(folder))
         for folder in folders])
