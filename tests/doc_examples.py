"""Runs the `console` blocks of the documentation, from the root of the tree.

A line that begins with `$ ` is a command, what follows is its output (both streams). A line `...`
stands for any lines, `...` inside a line for any text. Exit codes are not looked at.
"""
import os
import pathlib
import re
import subprocess
import sys

import tap

binary, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
clean = {k: v for k, v in os.environ.items() if not k.startswith('SHARDLINT_')}
clean.update(NO_COLOR='1', PATH=f'{binary.parent}:{clean["PATH"]}')


def examples(text):
    for block in re.findall(r'^```console\n(.*?)^```', text, re.M | re.S):
        for chunk in re.split(r'^\$ ', block, flags=re.M)[1:]:
            command, _, expected = chunk.partition('\n')
            yield command, expected


def pattern(expected):
    lines = [r'(?:.*\n)*' if line == '...' else re.escape(line).replace(r'\.\.\.', '.*') + '\n'
             for line in expected.splitlines()]
    return re.compile(''.join(lines))


def run(command, expected):
    done = subprocess.run(['bash', '-c', command], cwd=root, env=clean, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    assert pattern(expected).fullmatch(done.stdout), f'{command}\ngives\n{done.stdout}'


cases = [(f'{path.name}: {command}', lambda c=command, e=expected: run(c, e))
         for path in [root / 'README.md', *sorted((root / 'docs').glob('*.md'))]
         for command, expected in examples(path.read_text())]
tap.run(cases)
