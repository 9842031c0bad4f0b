"""How much of a constraint catalogue the rules and rewrites encode: writes docs/coverage.md.

usage: tools/coverage CATALOGUE_FOLDER [--list FRAMEWORK] [--check]
  --list   the entries of a framework that are left, one a line, instead of writing
  --check  fails if docs/coverage.md is not what would be written

The catalogue is *.yaml, lists of {id, topic, framework?, fsdp_related, ...}; without `framework` it is
the file's name. Rules and rewrites name entries in `covers`. Entries that no configuration decides,
and those where there is nothing to report, stand with the reason in this folder's <framework>.yaml.
"""
import argparse
import collections
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAMEWORKS = ('megatron-lm', 'megatron-bridge', 'verl')
COLUMNS = ('rule', 'rewrite', 'run time', 'no finding', 'left')


def load(path):
    return yaml.load(path.read_text(), yaml.CSafeLoader)


def catalogue(folder):
    """framework -> entries"""
    out = {name: [] for name in FRAMEWORKS}
    for path in sorted(folder.glob('*.yaml')):
        for entry in load(path):
            framework = entry.get('framework', path.stem)
            if framework in out:
                out[framework].append(entry)
    return out


def covered():
    """framework -> (ids named by rules, ids named by rewrites)"""
    out = {name: (set(), set()) for name in FRAMEWORKS}
    for path in sorted((ROOT / 'rules').glob('*/*.yaml')):
        if path.parent.name == 'schema':
            continue
        document = load(path)
        for case in document.get('cases', ()):
            for framework in case['for']:
                out[framework][0].update(case.get('covers', ()))
        for step in document.get('steps', ()):
            out[document['framework']][1].update(step.get('covers', ()))
    return out


def reasons(framework):
    """id -> (column, reason)"""
    out = {}
    for group in load(pathlib.Path(__file__).parent / f'{framework}.yaml'):
        for name in group['ids'] or ():
            if name in out:
                sys.exit(f'{framework}.yaml: {name} has two reasons')
            out[name] = (group['column'], group['why'])
    return out


def column(entry, rules, rewrites, why):
    if entry['id'] in rules:
        return 'rule'
    if entry['id'] in rewrites:
        return 'rewrite'
    return why.get(entry['id'], ('left',))[0]


def classify(entries, framework, named):
    """[(entry, column, reason or '')]; complains about reasons that nothing needs."""
    why = reasons(framework)
    rules, rewrites = named
    known = {entry['id'] for entry in entries}
    stray = sorted((set(why) | rules | rewrites) - known)
    idle = sorted(set(why) & (rules | rewrites))
    for what, names in (('not in the catalogue', stray), ('encoded, but with a reason', idle)):
        if names:
            print(f'{framework}: {what}: {", ".join(names)}', file=sys.stderr)
    return [(entry, column(entry, rules, rewrites, why), why.get(entry['id'], ('', ''))[1])
            for entry in entries]


def table(rows):
    topics = collections.defaultdict(collections.Counter)
    for entry, where, _ in rows:
        topics[entry['topic']][where] += 1
        topics['all'][where] += 1
    total = topics.pop('all')
    lines = ['| topic | entries | ' + ' | '.join(COLUMNS) + ' |', '|---|' + '--:|' * (len(COLUMNS) + 1)]
    for topic in sorted(topics) + ['**all**']:
        counts = topics.get(topic, total)
        cells = [sum(counts.values())] + [counts[name] for name in COLUMNS]
        lines.append(f'| {topic} | ' + ' | '.join(map(str, cells)) + ' |')
    return lines


def apart(rows):
    """What no configuration decides, by reason."""
    groups = collections.defaultdict(list)
    for entry, where, why in rows:
        if where in ('run time', 'no finding'):
            groups[where, why].append(entry['id'])
    lines = []
    for (where, why), ids in sorted(groups.items()):
        lines += [f'- *{where}*: {why} ({len(ids)}): ' + ', '.join(f'`{i}`' for i in sorted(ids))]
    return lines


def document(folder):
    named = covered()
    lines = ['# What of the constraint catalogue is encoded', '',
             'Made by `tools/coverage CATALOGUE`; do not edit. *rule*: a rule case reports it; *rewrite*: the',
             'engine follows the change and names it in the origin of the value; *run time*: files, objects or',
             'the run decide it; *no finding*: nothing is wrong with any one setting; *left*: to be written.', '']
    for framework, entries in catalogue(folder).items():
        rows = classify(entries, framework, named[framework])
        sharded = [row for row in rows if row[0].get('fsdp_related')]
        lines += [f'## {framework}', '', 'About sharded data parallelism:', '', *table(sharded), '',
                  'All:', '', *table(rows), '', 'Not decided by a configuration, with the reason:', '',
                  *apart(rows), '']
        left = [entry['id'] for entry, where, _ in sharded if where == 'left']
        lines += [f'Left of those about sharded data parallelism ({len(left)}): '
                  + (', '.join(f'`{i}`' for i in left) or 'none') + '.', '']
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(prog='tools/coverage')
    parser.add_argument('catalogue', type=pathlib.Path)
    parser.add_argument('--list', choices=FRAMEWORKS)
    parser.add_argument('--check', action='store_true')
    args = parser.parse_args()
    if args.list:
        entries = catalogue(args.catalogue)[args.list]
        for entry, where, _ in classify(entries, args.list, covered()[args.list]):
            if where == 'left':
                mark = 'fsdp' if entry.get('fsdp_related') else '-'
                print(mark, entry['id'], entry['effect'], entry.get('stage'), entry['when'], sep='\t')
        return 0
    text, page = document(args.catalogue), ROOT / 'docs/coverage.md'
    if args.check:
        return page.read_text() != text
    page.write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
