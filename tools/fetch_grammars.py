"""Fetch the parser sources named in tools/grammars.txt into third_party/tree-sitter.

Source packages only, checked against the hashes written there. Of each archive just the C sources,
headers and licence are unpacked. Does nothing when third_party already holds these versions.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PINS = ROOT / 'tools' / 'grammars.txt'
TARGET = ROOT / 'third_party' / 'tree-sitter'
# Folder in third_party, what to take from the archive (its top folder removed), what must be there.
WANTED = {
    'tree-sitter': ('runtime', r'tree_sitter/core/(lib/(?:src|include)/.*\.[ch])$',
                    ['lib/src/lib.c', 'lib/include/tree_sitter/api.h']),
    'tree-sitter-bash': ('bash', r'(src/.*\.[ch])$',
                         ['src/parser.c', 'src/scanner.c', 'src/tree_sitter/parser.h']),
    'tree-sitter-python': ('python', r'(src/.*\.[ch])$', ['src/parser.c', 'src/scanner.c']),
}


def pins():
    for line in PINS.read_text().splitlines():
        found = re.fullmatch(r'(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})', line)
        if found:
            yield found.groups()


def unpack(archive, name):
    folder, take, needed = WANTED[name]
    with tarfile.open(archive) as tar:
        for member in tar:
            inner = member.name.partition('/')[2]
            found = re.match(take, inner)
            target = found.group(1) if found else inner if inner == 'LICENSE' else None
            if not member.isfile() or not target or '..' in target.split('/'):
                continue
            out = TARGET / folder / target
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(tar.extractfile(member).read())
    for file in needed:
        if not (TARGET / folder / file).is_file():
            sys.exit(f'{archive.name} does not hold {file}')


def main():
    stamp = TARGET / 'versions'
    want = PINS.read_text()
    if stamp.is_file() and stamp.read_text() == want:
        return
    shutil.rmtree(TARGET, ignore_errors=True)
    # When pip itself builds us, its own environment hides pip from what it starts.
    outside = {k: v for k, v in os.environ.items() if k not in ('PYTHONPATH', 'PIP_BUILD_TRACKER')}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
                        '--disable-pip-version-check', '--no-binary', ':all:', '--require-hashes',
                        '--dest', folder, '--requirement', str(PINS)], check=True, env=outside)
        for name, version, digest in pins():
            stem = name.replace('-', '[-_]')
            archive = next((file for file in sorted(pathlib.Path(folder).iterdir())
                            if re.fullmatch(rf'{stem}-{re.escape(version)}\.tar\.gz', file.name)),
                           None)
            if archive is None:
                sys.exit(f'no source package of {name} {version} was fetched')
            if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
                sys.exit(f'{archive.name} is not the archive that tools/grammars.txt names')
            unpack(archive, name)
    stamp.write_text(want)
    print(f'parser sources are in {TARGET.relative_to(ROOT)}')


main()
