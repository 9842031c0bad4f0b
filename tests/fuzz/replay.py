"""Replays a fuzz target's seeds and packed corpus: replay.py PROGRAM TARGET"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

here = pathlib.Path(__file__).resolve().parent


def main():
    program, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as unpacked:
        folders = [folder for folder in [here / 'seeds' / target] if folder.exists()]
        corpus = here / 'corpus' / f'{target}.zip'
        if corpus.exists():
            zipfile.ZipFile(corpus).extractall(unpacked)
            folders.append(unpacked)
        if not folders:
            print(f'1..0 # SKIP no inputs of {target} are kept')
            return 0
        return subprocess.run([program, target, *map(str, folders)]).returncode


sys.exit(main())
