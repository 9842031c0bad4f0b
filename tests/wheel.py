"""pip install . into a fresh virtual environment, and what one can do there."""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import peers
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


def build():
    """As a user's pip does it: in an environment of its own, with the tools that pyproject.toml names."""
    if not wanted:
        needed()
    run(sys.executable, '-m', 'venv', python.parent.parent)
    pip = (python, '-m', 'pip', '--disable-pip-version-check')
    run(*pip, 'wheel', '--quiet', '--no-deps', '--wheel-dir', 'dist', root)
    run(*pip, 'install', '--quiet', '--no-deps', wheel())


def wheel():
    found = list(pathlib.Path(scratch.name, 'dist').glob('shardlint-*.whl'))
    assert len(found) == 1, found
    return found[0]


def holds():
    needed()
    names = zipfile.ZipFile(wheel()).namelist()
    for end in ('scripts/shardlint', 'scripts/shardlint-verify-cpu', 'shardlint/__init__.py',
                'shardlint/__main__.py'):
        assert any(name.endswith(end) for name in names), f'{end} is not among {names}'
    assert not [name for name in names if name.endswith(('.a', '.h', '.cpp'))], names


def pipx():
    needed()
    program = peers.program('pipx')
    env = {**outside, 'PIPX_HOME': f'{scratch.name}/pipx', 'PIPX_BIN_DIR': f'{scratch.name}/bin'}
    done = subprocess.run([program, 'run', '--spec', str(wheel()), 'shardlint', 'version'],
                          cwd=scratch.name, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith('shardlint '), done.stdout + done.stderr


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


tap.run([('an isolated pip builds the wheel, and it installs', build),
         ('the wheel holds the program, its trainer and the module', holds),
         ('the program is on PATH', program), ('python -m shardlint', module),
         ('shardlint.check', check_function), ('pipx run', pipx)])
