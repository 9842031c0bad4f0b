"""Error findings on upstream's own files: exactly those of fixtures/true-errors.yaml, each with the
statement that makes it true. SHARDLINT_UPSTREAM holds checkouts (megatron-lm, megatron-bridge, verl:
launch scripts are linted), SHARDLINT_CORPUS real YAML files. Skipped, saying so, where they are not.
The recipes that Megatron-Bridge ships have those of fixtures/true-errors-recipes.yaml."""
import json
import os
import pathlib
import subprocess
import sys

import tap

try:
    import yaml
except ImportError:
    yaml = None

binary, fixture, recipes = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
outside = {k: v for k, v in os.environ.items() if not k.startswith('SHARDLINT_')}


def lint(folder, endings):
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob('*')
                   if p.suffix in endings and p.is_file())
    assert files, f'nothing to lint in {folder}'
    done = subprocess.run([str(binary), 'check', '--isolated', '--output-format', 'json', *files],
                          env=outside, cwd=folder, capture_output=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr.decode()[-2000:]
    return [d for d in json.loads(done.stdout)['diagnostics'] if d['verdict'] == 'violation'], len(files)


def place(d):
    return d['filename'], d['code'], d['location']['row'] if d['location'] else 0


def compare(variable, top, endings):
    if not os.environ.get(variable):
        raise tap.Skip(f'{variable} is not set')
    if not yaml:
        raise tap.Skip('PyYAML is not installed')
    folder = pathlib.Path(os.environ[variable])
    if top != 'corpus':
        folder = folder / top
    if not folder.is_dir():
        raise tap.Skip(f'{folder} is not there')
    diagnostics, count = lint(folder, endings)
    found = {place(d): d['message'] for d in diagnostics if d['severity'] == 'error'}
    fixed = yaml.safe_load(fixture.read_text())
    listed = {(row['file'].removeprefix(top + '/'), row['code'], line): row['because']
              for row in fixed['errors']
              if row['file'].startswith(top + '/') for line in row['lines']}
    print(f'# {top}: {count} files, {len(found)} errors')
    new = [f'{f}:{line}: {code} {found[f, code, line]}'
           for f, code, line in sorted(found.keys() - listed.keys())]
    gone = [f'{f}:{line}: {code}' for f, code, line in sorted(listed.keys() - found.keys())]
    warned = {(*place(d), d['instance']) for d in diagnostics if d['severity'] == 'warning'}
    silent = [row for row in fixed['warnings'] if row['file'].startswith(top + '/') and
              (row['file'].removeprefix(top + '/'), row['code'], row['line'], row['instance'])
              not in warned]
    assert not silent, f'warnings that are no longer found: {silent}'
    assert not new, 'errors that no upstream statement is known for:\n' + '\n'.join(new)
    assert not gone, 'true errors that are no longer found:\n' + '\n'.join(gone)


def recipe_errors(*options):
    folder = pathlib.Path(os.environ['SHARDLINT_UPSTREAM']) / 'megatron-bridge/src/megatron/bridge'
    done = subprocess.run([str(binary), 'check', '--isolated', '--output-format', 'json', *options,
                           *(str(folder / name) for name in ('recipes', 'perf_recipes', 'diffusion'))],
                          env=outside, capture_output=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr.decode()[-2000:]
    return {(d['code'], d['instance']) for d in json.loads(done.stdout)['diagnostics']
            if d['severity'] == 'error' and d['verdict'] == 'violation'}


def compare_recipes():
    if not os.environ.get('SHARDLINT_UPSTREAM'):
        raise tap.Skip('SHARDLINT_UPSTREAM is not set')
    if not yaml:
        raise tap.Skip('PyYAML is not installed')
    fixed = yaml.safe_load(recipes.read_text())

    def listed(section):
        return {(row['code'], name) for row in fixed[section]
                for how in ('confirmed', 'other_first', 'not_confirmed') for name in row.get(how, [])}
    alone, launched = listed('errors'), listed('left_to_launch')
    for options, wanted in (((), alone), (('--closed-world',), alone | launched)):
        found = recipe_errors(*options)
        print(f'# recipes {" ".join(options)}: {len(found)} errors')
        assert not found - wanted, f'no upstream statement is known for: {sorted(found - wanted)}'
        assert not wanted - found, f'no longer found: {sorted(wanted - found)}'


scripts = ('.sh', '.slurm', '.sbatch')
tap.run([
    *[(f'{top}: every error is a true one',
       lambda top=top: compare('SHARDLINT_UPSTREAM', top, scripts))
      for top in ('megatron-lm', 'megatron-bridge', 'verl')],
    ('recipes: every error is a true one', compare_recipes),
    ('corpus: every error is a true one',
     lambda: compare('SHARDLINT_CORPUS', 'corpus', ('.yaml', '.yml'))),
])
