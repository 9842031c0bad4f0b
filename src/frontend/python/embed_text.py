"""Puts files into one C++ source as string literals.

usage: embed_text.py OUT.cpp NAME=FILE...
"""
import sys

with open(sys.argv[1], 'w', encoding='utf-8') as out:
    out.write('#include "frontend/python/shipped.h"\n\nnamespace shardlint::python {\n')
    for pair in sys.argv[2:]:
        name, path = pair.split('=', 1)
        with open(path, 'rb') as file:
            data = file.read()
        out.write(f'\nstatic const char {name}_bytes[] =\n')
        for line in data.splitlines(keepends=True):
            text = ''.join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f'\\{b:03o}' for b in line)
            out.write(f'  "{text}"\n')
        out.write(f'  ;\nconst std::string_view {name}({name}_bytes, sizeof {name}_bytes - 1);\n')
    out.write('\n}  // namespace shardlint::python\n')
