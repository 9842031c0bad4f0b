"""Lint the configuration of a distributed training job from Python.

>>> import shardlint
>>> report = shardlint.check(['conf/train.yaml'])       # files and folders
>>> report = shardlint.check(text='MODEL_ARGS: ...', filename='train.yaml')
>>> [d['code'] for d in report['diagnostics']]

The report is what `shardlint check --output-format json` prints (docs/json-output.md). The work is
done by the shardlint program; nothing that is linted is imported or run.
"""
import json
import os
import shutil
import subprocess
import sysconfig

__all__ = ['ShardlintError', 'binary', 'check']


class ShardlintError(RuntimeError):
    """The work could not be done (exit code 2): bad options, bad settings, a file that is gone."""


def binary():
    """The path of the shardlint program: the wheel's own, else the one on PATH."""
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme('user')):
        path = os.path.join(sysconfig.get_path('scripts', scheme), 'shardlint')
        if os.access(path, os.X_OK):
            return path
    path = shutil.which('shardlint')
    if path:
        return path
    raise ShardlintError('the shardlint program is not installed')


def check(paths=(), *, text=None, filename='stdin.yaml', options=()):
    """Lints files and folders, or `text` under the name `filename`; returns the JSON report.

    `options` are command-line options, for example ['--world-size', '64'].
    """
    if (text is None) == (not paths):
        raise ValueError('give paths or text, and not both')
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    command = [binary(), 'check', '--output-format', 'json', '--no-summary', '--exit-zero', *options]
    if text is not None:
        command += ['--stdin-filename', filename, '-']
    else:
        command += [os.fspath(path) for path in paths]
    done = subprocess.run(command, input=text, capture_output=True, encoding='utf-8', check=False)
    if done.returncode != 0:
        raise ShardlintError(done.stderr.strip() or f'exit code {done.returncode}')
    return json.loads(done.stdout)
