#!/usr/bin/env python3
"""Writes rules/schema/megatron-bridge-recipes.yaml: what each recipe that Megatron-Bridge ships sets.

usage: extract_recipes.py PYTHON_FACTS BRIDGE_CHECKOUT MEGATRON_LM_CHECKOUT VERSION COMMIT OUT

PYTHON_FACTS is the build's tests/python-facts, which evaluates the recipes without importing them.
Used where a configuration builds on a shipped recipe and no checkout is at hand. Only what differs
from the defaults of the classes is kept; a recipe is written as its difference from the most
similar one before it. One JSON row a line, so that the file is read without a YAML parser.
"""
import ast
import json
import pathlib
import subprocess
import sys

TREES = ('recipes', 'perf_recipes', 'diffusion/recipes')


def aliases(root, known):
    """Other names under which packages offer a recipe: imports and plain assignments."""
    names, grew = {}, True
    modules = []
    for tree in TREES:
        for path in sorted((root / tree).rglob('*.py')):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ImportFrom):
                    modules += [(tree, a.asname or a.name, a.name) for a in node.names]
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    modules += [(tree, t.id, node.value.id) for t in node.targets
                                if isinstance(t, ast.Name)]
    while grew:
        grew = False
        for tree, new, old in modules:
            target = names.get((tree, old), (tree, old) if (tree, old) in known else None)
            if new != old and target and (tree, new) not in names and (tree, new) not in known:
                names[tree, new] = target
                grew = True
    return names


def main():
    tool, bridge, core, version, commit, out = sys.argv[1:]
    root = pathlib.Path(bridge) / 'src/megatron/bridge'
    files = [str(p) for tree in TREES for p in sorted((root / tree).rglob('*.py'))]
    run = subprocess.run([tool, '--private', '--chains', '--source-root', bridge, '--source-root',
                          core, *files], capture_output=True, text=True, check=True)
    pairs, recipes = {}, {}
    for line in run.stdout.splitlines():
        one = json.loads(line)
        if 'chain' not in one:
            continue
        tree = next(t for t in TREES if one['file'].startswith(str(root / t)))
        indices = set()
        for key, chain in one['chain'].items():
            last = chain[-1]
            if last['origin'] == 'default' or key.startswith('env.') or key == 'env_vars' and any(
                    other.startswith('env_vars.') for other in one['chain']):
                continue
            row = json.dumps([key, last['value']], sort_keys=True)
            indices.add(pairs.setdefault(row, len(pairs)))
        recipes[tree, one['instance']] = indices
    rows, done = [], []
    for (tree, name), indices in recipes.items():
        best = min(done, key=lambda other: len(recipes[other] ^ indices), default=None)
        row = {'name': f'{tree}.{name}'}
        base = set()
        if best and len(recipes[best] ^ indices) < len(indices):
            base = recipes[best]
            row['like'] = f'{best[0]}.{best[1]}'
            row['drop'] = sorted(base - indices)
        row['add'] = sorted(indices - base)
        rows.append(row)
        done.append((tree, name))
    rows += [{'name': f'{tree}.{new}', 'is': f'{t}.{old}'}
             for (tree, new), (t, old) in sorted(aliases(root, recipes).items())]
    with open(out, 'w', encoding='utf-8') as file:
        file.write('# Made by tools/extract_recipes.py; do not edit.\n'
                   'schema: shardlint/recipes@1\n'
                   f'version: "{version}"\ncommit: {commit}\npairs:\n')
        for row in pairs:
            file.write(f'- {row}\n')
        file.write('recipes:\n')
        for row in rows:
            file.write(f'- {json.dumps(row, separators=(",", ":"))}\n')


if __name__ == '__main__':
    main()
