"""Writes rules/text/en.yaml as a C++ table: embed_texts.py IN.yaml OUT.cpp

The file is a plain subset of YAML (keys, JSON strings), so that building needs no YAML package."""
import json
import pathlib
import sys

FIELDS = ['code', 'name', 'summary', 'rationale', 'help']


def rows(path):
    row = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith('#'):
            continue
        key, _, value = line.strip().partition(':')
        value = value.strip()
        if not line.startswith(' ') and not value:
            row = {'code': key}
            yield row
        elif row is not None and key in FIELDS[1:] and value:
            row[key] = json.loads(value) if value.startswith('"') else value
        else:
            sys.exit(f'{path}:{number}: not understood: {line}')


def main():
    source, out = map(pathlib.Path, sys.argv[1:])
    table = sorted(rows(source), key=lambda row: row['code'])
    lines = ['#include "diagnostics/texts.h"', '#include <algorithm>', 'namespace shardlint {',
             'namespace { constexpr FindingText table[] = {']
    for row in table:
        lines.append('{' + ', '.join(json.dumps(row.get(f, ''), ensure_ascii=True) for f in FIELDS) + '},')
    lines += ['}; }', 'std::span<const FindingText> finding_texts() { return table; }',
              'const FindingText* find_finding_text(std::string_view what) {',
              '  const auto it = std::find_if(std::begin(table), std::end(table),',
              '      [&](const FindingText& t) { return t.code == what || t.name == what; });',
              '  return it == std::end(table) ? nullptr : it;', '}', '}']
    out.write_text('\n'.join(lines) + '\n')


main()
