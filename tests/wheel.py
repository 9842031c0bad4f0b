"""pip install . into a fresh virtual environment, and what one can do there."""
import os
import pathlib
import subprocess
import sys
import tempfile

import tap

root = pathlib.Path(sys.argv[1]).resolve()
wanted = os.environ.get('SHARDLINT_INSTALL_TESTS') == '1'
scratch = tempfile.TemporaryDirectory()
python = pathlib.Path(scratch.name) / 'venv' / 'bin' / 'python'
outside = {k: v for k, v in os.environ.items() if not k.startswith('SHARDLINT_')}


def run(*command, check=True):
    done = subprocess.run([str(c) for c in command], cwd=scratch.name, env=outside,
                          capture_output=True, text=True)
    assert not check or done.returncode == 0, f'{command}:\n{done.stdout}\n{done.stderr}'
    return done


def needed():
    if not wanted:
        raise tap.Skip('it compiles everything again; set SHARDLINT_INSTALL_TESTS=1')
    if not python.exists():
        raise tap.Skip('nothing was installed')


def install():
    if not wanted:
        needed()
    run(sys.executable, '-m', 'venv', python.parent.parent)
    pip = (python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps')
    # Meson as the tree was built with, so that the compiler cache spares a second compilation.
    run(*pip, 'meson-python', 'pyproject-metadata', 'packaging')
    run(*pip, '--no-build-isolation', root)


def program():
    needed()
    assert run(python.with_name('shardlint'), 'version').stdout.startswith('shardlint ')


def module():
    needed()
    assert run(python, '-m', 'shardlint', 'version').stdout.startswith('shardlint ')
    assert run(python, '-m', 'shardlint', 'chek', check=False).returncode == 2


def check_function():
    needed()
    script = '''
import shardlint
bad = 'MODEL_ARGS:\\n  --num-layers: 12\\n  --no-such-flag: 3\\n'
report = shardlint.check(text=bad, filename='a.yaml')
assert report['version'] == 1 and report['diagnostics'], report
assert report['diagnostics'][0]['filename'] == 'a.yaml'
open('b.yaml', 'w').write(bad)
assert len(shardlint.check('b.yaml')['diagnostics']) == len(report['diagnostics'])
try:
    shardlint.check('gone.yaml')
except shardlint.ShardlintError as error:
    assert 'gone.yaml' in str(error)
else:
    raise AssertionError('a missing file is no error')
'''
    run(python, '-c', script)


tap.run([('pip builds and installs the wheel', install), ('the program is on PATH', program),
         ('python -m shardlint', module), ('shardlint.check', check_function)])
