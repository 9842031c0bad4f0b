"""The programs on the other side (pre-commit, check-jsonschema, ...): real ones, from PyPI."""
import pathlib
import subprocess
import sys

import tap

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / '.cache' / 'peers'


def program(package, name=None, version=''):
    """The path of a package's program, installed into .cache/peers on first use."""
    path = VENV / 'bin' / (name or package)
    if path.exists():
        return str(path)
    if not (VENV / 'bin' / 'pip').exists():
        made = subprocess.run([sys.executable, '-m', 'venv', VENV], capture_output=True, text=True)
        if made.returncode:
            raise tap.Skip(f'no virtual environment can be made: {made.stderr.strip()[-200:]}')
    done = subprocess.run([VENV / 'bin' / 'pip', 'install', '--quiet', '--disable-pip-version-check',
                           package + version], capture_output=True, text=True)
    if done.returncode or not path.exists():
        raise tap.Skip(f'{package} cannot be installed: {done.stderr.strip()[-200:]}')
    return str(path)
