"""Runs the fuzz targets: fuzz.py BUILD_FOLDER SECONDS [NAME...]

SECONDS are processor time, a target. What a run learns is minimised into tests/fuzz/corpus/NAME.zip,
which `./dev test` replays. The sums over all runs stand in tests/fuzz/corpus/runs.json. Ends with TAP
points. An input may take 60 s here: the sanitizers cost more than tenfold and machines are shared, and the replay, built as
users have it, allows one second.
"""
import hashlib
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
import zipfile

root = pathlib.Path(__file__).resolve().parent.parent
home = root / 'tests/fuzz'
fixtures = root / 'fixtures'
LIMITS = ['-timeout=60', '-rss_limit_mb=512', '-malloc_limit_mb=512', '-max_len=20000']
MOST_INPUTS = 1500  # that are kept of a target


def fixture_seeds(name):
    """Real files in the form that the target reads."""
    def read(*patterns):
        return [p.read_bytes() for e in patterns for p in sorted(fixtures.rglob(e))]
    if name == 'pickle':
        return read('.metadata')
    if name == 'zip':
        return read('*.distcp', '*.pt')
    if name == 'safetensors':  # the first byte says how many values follow the header
        return [b'\x05' + f[8:8 + struct.unpack('<Q', f[:8])[0]]
                for f in read('*.safetensors') if len(f) > 8]
    if name == 'rules':
        return [p.read_bytes() for p in sorted((root / 'rules').rglob('*.yaml'))[::9]
                if p.stat().st_size < 10_000 and p.parent.name != 'schema']
    if name == 'expression':
        texts = {m for p in sorted((root / 'rules').rglob('*.yaml'))[::3]
                 for m in re.findall(r'(?:when|require): "([^"\\\n]+)"', p.read_text())}
        return [hashlib.sha1(t.encode()).digest()[:8] + t.encode() for t in sorted(texts)]
    if name == 'pipeline':  # the first byte says of which name
        kinds = {'.yaml': [0, 1, 2, 3, 6], '.sh': [4], '.py': [5], '.sbatch': [7]}
        return [bytes([kind]) + p.read_bytes() for p in sorted(fixtures.rglob('*'))
                for kind in kinds.get(p.suffix, []) if p.stat().st_size < 10_000]
    return []


def fuzz(program, name, seconds, corpus):
    """(executions, processor seconds, last coverage, what went wrong)"""
    command = [program, *LIMITS, f'-artifact_prefix={program}-', str(corpus)]
    if (home / f'{name}.dict').exists():
        command.append(f'-dict={home}/{name}.dict')
    if (home / 'seeds' / name).exists():
        command.append(str(home / 'seeds' / name))
    executions, spent, coverage = 0, 0.0, 0
    environment = {**os.environ, 'ASAN_OPTIONS': 'quarantine_size_mb=16:detect_leaks=1'}
    with tempfile.TemporaryDirectory() as nowhere:
        while spent < seconds:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            slice_ = max(10, min(120, int(seconds - spent)))
            result = subprocess.run([*command, f'-max_total_time={slice_}'], text=True, cwd=nowhere,
                                    errors='replace', stderr=subprocess.PIPE, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            executions += sum(map(int, re.findall(r'^Done (\d+) runs', result.stderr, re.M)))
            coverage = max([coverage, *map(int, re.findall(r'\bcov: (\d+)', result.stderr))])
            if result.returncode:
                return executions, spent, coverage, result.stderr[-6000:]
    return executions, spent, coverage, ''


def keep(program, name, corpus):
    """The smallest inputs that together reach what the corpus reaches, packed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, '-merge=1', *LIMITS, folder, str(corpus)], check=True,
                       stderr=subprocess.DEVNULL)
        inputs = sorted(pathlib.Path(folder).iterdir(), key=lambda p: (p.stat().st_size, p.name))
        (home / 'corpus').mkdir(exist_ok=True)
        with zipfile.ZipFile(home / f'corpus/{name}.zip', 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for path in inputs[:MOST_INPUTS]:
                out.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)
        return len(inputs)


def main():
    build, seconds, names = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2]), sys.argv[3:]
    names = names or sorted(p.name[:-9] for p in home.glob('*_fuzz.cpp'))
    subprocess.run(['ninja', '-C', str(build), *(f'tests/fuzz/{name}_fuzz' for name in names)],
                   check=True, stdout=sys.stderr)
    sums_file = home / 'corpus/runs.json'
    failed = 0
    print(f'1..{len(names)}')
    for number, name in enumerate(names, 1):
        corpus = build / 'corpus' / name
        corpus.mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(fixture_seeds(name)):
            (corpus / f'fixture-{i}').write_bytes(seed)
        if (home / f'corpus/{name}.zip').exists():
            zipfile.ZipFile(home / f'corpus/{name}.zip').extractall(corpus)
        program = str(build / f'tests/fuzz/{name}_fuzz')
        executions, spent, coverage, problem = fuzz(program, name, seconds, corpus)
        failed += bool(problem)
        print(problem, file=sys.stderr)
        kept = keep(program, name, corpus)
        sums = json.loads(sums_file.read_text()) if sums_file.exists() else {}
        row = sums.setdefault(name, {'cpu_seconds': 0, 'executions': 0})
        row['cpu_seconds'] = round(row['cpu_seconds'] + spent)
        row['executions'] += executions
        row.update(coverage=coverage, inputs=kept)
        sums_file.write_text(json.dumps(sums, indent=1, sort_keys=True) + '\n')
        print(f'{"not ok" if problem else "ok"} {number} - {name}: {executions} executions in '
              f'{spent:.0f} s of processor time, {coverage} edges, {kept} inputs kept', flush=True)
    sys.exit(failed != 0)


if __name__ == '__main__':
    main()
