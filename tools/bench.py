"""Cold start, a whole corpus of YAML against yamllint, and launch scripts against shellcheck, each on the
same files: medians of 5.

usage: tools/bench.py [--runs N] [--corpus DIR] [--scripts DIR] [--binary FILE]
"""
import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time


def seconds(command):
    """Wall clock, and processor time, which other work on the machine does not stretch as much."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(command, runs):
    seconds(command)  # files into the page cache
    wall, cpu = zip(*(seconds(command) for _ in range(runs)))
    return statistics.median(wall), min(wall), max(wall), statistics.median(cpu)


def row(name, timing, more=''):
    middle, low, high, cpu = (1000 * t for t in timing)
    print(f'{name:<36} {middle:9.1f} ms  ({low:.1f} - {high:.1f}), processor {cpu:.1f} ms{more}')


def small_file(shardlint, runs):
    with tempfile.TemporaryDirectory() as scratch:
        small = pathlib.Path(scratch) / 'small.yaml'
        small.write_text('ddp:\n  use_megatron_fsdp: true\ncheckpoint:\n  save: /ckpt\n')
        row('process start (/bin/true)', median(['/bin/true'], runs))
        row('shardlint version', median([shardlint, 'version'], runs))
        row('shardlint check, one small file', median([shardlint, 'check', str(small)], runs))


def ten_thousand_files(shardlint):
    """Goal: 5 s on two idle cores."""
    text = pathlib.Path('fixtures/examples/sound-functional-test.yaml').read_text()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(10_000):
            folder = pathlib.Path(scratch, f'{number // 100:03}')
            folder.mkdir(exist_ok=True)
            (folder / f'{number:05}.yaml').write_text(text)
        row('shardlint check, 10,000 files', median([shardlint, 'check', scratch], 3))


def against(shardlint, runs, files, what, peer, words):
    """Both programs on the same files. `peer` is skipped, saying so, where it is not installed."""
    volume = sum(os.path.getsize(f) for f in files)
    print(f'{len(files)} {what}, {volume:,} bytes')
    ours = median([shardlint, 'check', '--output-format', 'concise', *files], runs)
    row('shardlint check', ours, f'  {len(files) / ours[0]:,.0f} files/s, {volume / ours[0] / 1e6:.1f} MB/s')
    one = median([shardlint, 'check', '--jobs', '1', '--output-format', 'concise', *files], runs)
    row('shardlint check --jobs 1', one)
    program = shutil.which(peer)
    if not program:
        print(f'{peer}: skipped, not installed')
        return
    theirs = median([program, *words, *files], min(runs, 3))
    row(f'{peer} {" ".join(words)}', theirs)
    print(f'{peer} / shardlint: {theirs[0] / ours[0]:.1f} times '
          f'({theirs[0] / one[0]:.1f} with one thread, {theirs[3] / ours[3]:.1f} in processor time)')


def files_in(folder, endings):
    return sorted(str(p) for ending in endings
                  for p in pathlib.Path(folder).rglob('*' + ending) if p.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--corpus', default=os.environ.get('SHARDLINT_CORPUS'))
    parser.add_argument('--scripts', default=os.environ.get('SHARDLINT_UPSTREAM'))
    parser.add_argument('--binary', default='build/shardlint')
    arguments = parser.parse_args()
    shardlint, runs = arguments.binary, arguments.runs
    size = os.path.getsize(shardlint)
    print(f'{shardlint}: {size / 2**20:.1f} MiB; load {os.getloadavg()[0]:.1f} on '
          f'{os.cpu_count()} cores; medians of {runs}')
    small_file(shardlint, runs)
    ten_thousand_files(shardlint)
    if arguments.corpus:
        against(shardlint, runs, files_in(arguments.corpus, ('.yaml', '.yml')), 'YAML files',
                'yamllint', ['-f', 'parsable'])
    else:
        print('corpus: skipped, SHARDLINT_CORPUS is not set')
    if arguments.scripts:
        against(shardlint, runs, files_in(arguments.scripts, ('.sh',)), 'launch scripts',
                'shellcheck', ['-f', 'gcc'])
    else:
        print('scripts: skipped, SHARDLINT_UPSTREAM is not set')


main()
