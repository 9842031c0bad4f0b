"""Builds and runs every fuzz target for a while: fuzz.py BUILD_FOLDER SECONDS [NAME...]

Seeds are tests/fuzz/seeds/NAME and, for the readers of checkpoints, the files of
fixtures/checkpoint. What a run learns stays in BUILD_FOLDER/corpus/NAME. Ends with TAP points.
"""
import pathlib
import re
import struct
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
fixtures = root / 'fixtures' / 'checkpoint'


def fixture_seeds(name):
    if name == 'pickle':
        return [p.read_bytes() for p in fixtures.rglob('.metadata')]
    if name == 'zip':
        return [p.read_bytes() for e in ('*.distcp', '*.pt') for p in fixtures.rglob(e)]
    if name == 'safetensors':  # the first byte says how many values follow the header
        files = [p.read_bytes() for p in fixtures.rglob('*.safetensors')]
        return [b'\x05' + f[8:8 + struct.unpack('<Q', f[:8])[0]] for f in files if len(f) > 8]
    return []


def main():
    build, seconds, names = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    names = names or sorted(p.name[:-9] for p in (root / 'tests/fuzz').glob('*_fuzz.cpp'))
    targets = [f'tests/fuzz/{name}_fuzz' for name in names]
    subprocess.run(['ninja', '-C', str(build), *targets], check=True, stdout=sys.stderr)
    failed = 0
    print(f'1..{len(names)}')
    for number, name in enumerate(names, 1):
        corpus = build / 'corpus' / name
        corpus.mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(fixture_seeds(name)):
            (corpus / f'fixture-{i}').write_bytes(seed)
        command = [str(build / 'tests/fuzz' / f'{name}_fuzz'), f'-max_total_time={seconds}', '-timeout=20',
                   '-max_len=65536', f'-artifact_prefix={build}/{name}-', str(corpus)]
        if (root / f'tests/fuzz/{name}.dict').exists():
            command.append(f'-dict={root}/tests/fuzz/{name}.dict')
        if (root / f'tests/fuzz/seeds/{name}').exists():
            command.append(str(root / f'tests/fuzz/seeds/{name}'))
        result = subprocess.run(command, text=True, errors='replace', stderr=subprocess.PIPE)
        runs = re.findall(r'^Done (\d+) runs', result.stderr, re.M)
        if result.returncode:
            failed += 1
            print(result.stderr[-4000:], file=sys.stderr)
        print(f'{"not ok" if result.returncode else "ok"} {number} - {name}: {runs[-1] if runs else "?"} runs')
        sys.stdout.flush()
    sys.exit(failed != 0)


main()
