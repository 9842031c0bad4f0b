"""Fail when a room includes one that comes after it in the pipeline."""
import pathlib
import re
import sys

ORDER = ('base source diagnostics facts schema frontend discover rules report checkpoint lint verify '
         'ranks lsp').split()
src = pathlib.Path(sys.argv[1])
bad = []
for file in sorted(src.rglob('*')):
    room = file.relative_to(src).parts[0]
    if room not in ORDER or file.suffix not in ('.h', '.cpp', '.cu'):
        continue
    for target in re.findall(r'^#include "(\w+)/', file.read_text(), re.M):
        if target in ORDER and ORDER.index(target) > ORDER.index(room):
            bad.append(f'{file}: {room} may not include {target}')
print('\n'.join(bad))
sys.exit(bool(bad))
