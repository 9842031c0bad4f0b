#!/usr/bin/env python3
"""Turns rules/schema/effects.yaml into a C++ table.

usage: embed_effects.py OUT.cpp EFFECTS.yaml
Needs the standard library alone: the file holds one JSON row a line."""
import json
import sys

KNOWN = ['memory', 'communication', 'numerics', 'checkpoints', 'nothing']


def main():
    out, source = sys.argv[1:3]
    rows = []
    with open(source, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if line.startswith('- '):
                row = json.loads(line[2:])
                unknown = [e for e in row['effects'] if e not in KNOWN]
                if unknown or not row['effects'] or not row['what'] or not row['keys']:
                    sys.exit(f'{source}:{number}: wants effects of {KNOWN}, what and keys')
                rows.append(row)
    with open(out, 'w', encoding='utf-8') as file:
        file.write('#include "lint/effects.h"\n\nnamespace shardlint {\nnamespace {\n\n')
        for number, row in enumerate(rows):
            effects = ', '.join(f'Effect::{e}' for e in row['effects'])
            keys = ', '.join(json.dumps(k) for k in row['keys'])
            file.write(f'constexpr Effect effects_{number}[] = {{{effects}}};\n'
                       f'constexpr std::string_view keys_{number}[] = {{{keys}}};\n')
        file.write('constexpr EffectRow rows[] = {\n')
        for number, row in enumerate(rows):
            file.write(f'  {{effects_{number}, {json.dumps(row["what"])}, keys_{number}}},\n')
        file.write('};\n\n}  // namespace\n\nstd::span<const EffectRow> effect_rows() {\n'
                   '  return rows;\n}\n\n}  // namespace shardlint\n')


main()
