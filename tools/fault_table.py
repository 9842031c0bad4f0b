#!/usr/bin/env python3
"""The fault table of `shardlint verify`: every row is really injected (ECC is simulated, and said to
be), the verdict and the seconds are printed, and nothing may be left running.

    tools/fault_table.py BUILD/shardlint [--backend gpu|cpu] [--gpus 2] [--only NAME ...] [--json FILE]

Exit code 0 when every row gave the verdict it must give, 1 when one did not, 77 when none could run.
Rows that need root (a small tmpfs, a read-only mount) or two GPUs say "skipped: why".
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FAST = ['--steps', '3', '--collective-sizes', '65536', '--phase-deadline', '8']


def trainer_processes():
    """Processes of this run: they carry our token in their environment."""
    token = f'SHARDLINT_FAULT_TABLE={os.getpid()}'.encode()
    left = []
    for entry in pathlib.Path('/proc').iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if token in (entry / 'environ').read_bytes().split(b'\0'):
                    left.append(int(entry.name))
            except OSError:
                pass
    return left


def gpu_processes():
    """PIDs that hold GPU memory, or None where that cannot be asked."""
    if not shutil.which('nvidia-smi'):
        return None
    out = subprocess.run(['nvidia-smi', '--query-compute-apps=pid', '--format=csv,noheader'],
                         capture_output=True, text=True)
    return set(out.stdout.split()) if out.returncode == 0 else None


class Table:
    def __init__(self, options):
        self.options = options
        self.rows = []
        self.temporary = pathlib.Path(tempfile.mkdtemp(prefix='shardlint-faults-'))

    def command(self, extra, fast=True):
        o = self.options
        return ([o.shardlint, 'verify', '--yes', '--backend', o.backend, '--gpus', str(o.gpus)]
                + (FAST if fast else []) + list(extra))

    def run(self, name, extra, expect, says, *, env=None, meddle=None, note='', fast=True):
        """expect: exit codes that are right; says: a pattern the verdict must hold."""
        if self.options.only and name not in self.options.only:
            return
        evidence = self.temporary / f'{len(self.rows)}.json'
        environment = dict(os.environ, SHARDLINT_FAULT_TABLE=str(os.getpid()), **(env or {}))
        command = self.command(extra, fast) + ['--evidence', str(evidence)]
        before = gpu_processes()
        start = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        if meddle:
            meddle(process)
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0] + '\nverdict: NONE WITHIN 120 s'
        seconds = time.monotonic() - start
        left = trainer_processes()
        after = gpu_processes()
        grown = sorted(after - before) if before is not None and after is not None else []
        verdicts = re.findall(r'^verdict: (.*)$|^shardlint: (?!no GPU here)(.*)$', output, re.M)
        verdict = next((a or b for a, b in reversed(verdicts)), output.strip()[-200:])
        good = (process.returncode in expect and re.search(says, output, re.S) is not None
                and not left and not grown)
        self.add(name, 'ok' if good else 'WRONG', verdict, seconds, process.returncode, left + grown,
                 note)
        if not good:
            print(output[-3000:], file=sys.stderr)

    def add(self, name, state, verdict, seconds=0.0, code=None, left=(), note=''):
        self.rows.append({'fault': name, 'state': state, 'verdict': verdict,
                          'seconds': round(seconds, 1), 'exit_code': code,
                          'left_running': list(left), 'note': note})
        print(f"{state:7} {name:28} exit {code!s:4} {seconds:5.1f} s  left {len(left)}  {verdict}"
              + (f'  [{note}]' if note else ''), flush=True)

    def skip(self, name, why):
        if not self.options.only or name in self.options.only:
            self.add(name, 'skipped', why)


def signal_a_rank(number):
    """Sends a signal to the trainer process of rank 1, once it trains."""
    def meddle(process):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            for pid in trainer_processes():
                try:
                    environ = pathlib.Path(f'/proc/{pid}/environ').read_bytes().split(b'\0')
                    name = pathlib.Path(f'/proc/{pid}/comm').read_text()
                except OSError:
                    continue
                if name.startswith('shardlint-verif') and b'RANK=1' in environ:
                    time.sleep(0.8)
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass
                    return
            time.sleep(0.02)
    return meddle


def mounted(table, name, options, action):
    """Runs action(folder) with a tmpfs on it; needs root and the right to mount."""
    folder = table.temporary / name
    folder.mkdir()
    made = subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', str(folder)],
                          capture_output=True, text=True)
    if made.returncode != 0:
        return made.stderr.strip() or 'mount refused'
    try:
        action(folder)
    finally:
        subprocess.run(['umount', '-l', str(folder)], capture_output=True)
    return ''


def unwritable(folder):
    """A folder that even root cannot write to, without mounting: below /proc there is one."""
    return '/proc/self' if os.geteuid() == 0 else str(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('shardlint')
    parser.add_argument('--backend', default='gpu', choices=['gpu', 'cpu'])
    parser.add_argument('--gpus', type=int, default=2)
    parser.add_argument('--only', nargs='*')
    parser.add_argument('--json')
    options = parser.parse_args()
    options.shardlint = str(pathlib.Path(options.shardlint).resolve())
    table = Table(options)
    gpu = options.backend == 'gpu'

    # The control: the same run without a fault.
    table.run('none', [], {0}, r'verdict: pass')
    # Signals from outside, at a rank's process.
    table.run('kill -9 a rank', ['--processes', '--steps', '2000'], {2},
              r'rank 1 was ended by SIGKILL', meddle=signal_a_rank(signal.SIGKILL))
    table.run('SIGSTOP a rank', ['--processes', '--steps', '2000'], {2},
              r'rank 1 was stopped by SIGSTOP', meddle=signal_a_rank(signal.SIGSTOP))
    # The same from inside, at a known step.
    table.run('rank kills itself', ['--processes', '--fault', 'kill:1:1'], {2},
              r'rank 1 was ended by SIGKILL')
    table.run('rank stops itself', ['--processes', '--fault', 'stop:1:1'], {2},
              r'rank 1 was stopped by SIGSTOP')
    table.run('rank hangs', ['--fault', 'hang:1:1'], {2}, r'hang: .*rank 1')
    table.run('rank hangs (processes)', ['--processes', '--fault', 'hang:1:1'], {2},
              r'hang: .*rank 1')
    table.run('NaN injected', ['--fault', 'nan_gradient:1:1'], {1}, r'VFY103')
    table.run('gradient scaled by 2', ['--fault', 'scale_gradient:1:1:2'], {1}, r'VFY104')
    table.run('shard corrupted', ['--fault', 'corrupt_shard:1:1'], {1}, r'VFY10[45]')
    table.run('checkpoint corrupted', ['--fault', 'corrupt_checkpoint:0'], {1}, r'VFY106')
    table.run('interrupted', ['--processes', '--steps', '2000'], {143}, r'interrupted',
              meddle=lambda p: (time.sleep(2), p.send_signal(signal.SIGTERM)))

    # Disk. The announced need is checked before the start; a disk that fills later is found by the
    # trainer: the file that fills it is written once the trainer runs.
    why = mounted(table, 'small', 'size=1m', lambda folder: table.run(
        'disk too small', ['--save', str(folder / 'ckpt')], {2}, r'has room for'))
    if why:
        table.skip('disk too small', why)

    def fill(folder):
        def meddle(process):
            while not trainer_processes() and process.poll() is None:
                time.sleep(0.01)
            time.sleep(0.1)
            try:
                with open(folder / 'filler', 'wb') as filler:
                    while True:
                        filler.write(b'x' * 4096)
                        filler.flush()
            except OSError:
                pass
        return meddle
    why = mounted(table, 'filling', 'size=64m', lambda folder: table.run(
        'disk full while it runs', ['--save', str(folder / 'ckpt')], {1, 2},
        r'(?i)no space|full', meddle=fill(folder)))
    if why:
        table.skip('disk full while it runs', why)
    why = mounted(table, 'readonly', 'ro', lambda folder: table.run(
        'checkpoint folder read-only', ['--save', str(folder / 'ckpt')], {2}, r'cannot write'))
    if why:
        folder = table.temporary / 'closed'
        folder.mkdir(mode=0o555)
        table.run('checkpoint folder read-only', ['--save', unwritable(folder) + '/ckpt'], {2},
                  r'cannot write', note='no right to mount: ' + why)
    kept = table.temporary / 'kept'
    (kept / 'iter_0000002').mkdir(parents=True)
    table.run('checkpoint is there already', ['--save', str(kept)], {2}, r'holds a checkpoint')

    # Machines.
    if gpu:
        table.run('one GPU', ['--gpus', '1'], {0}, r'verdict: .*pass',
                  env={'CUDA_VISIBLE_DEVICES': '0'})
        table.run('fewer GPUs than wanted', ['--gpus', '64'], {77}, r'64 GPUs wanted')
        table.run('no GPU', [], {77}, r'CUDA_VISIBLE_DEVICES hides',
                  env={'CUDA_VISIBLE_DEVICES': ''})
        table.run('no peer access', ['--fault', 'no_peer_access'], {0, 1}, r'no_peer_access',
                  note='simulated')
        table.run('ECC error', ['--fault', 'ecc_error'], {1, 2, 77}, r'(?i)ecc', note='simulated')
        table.run('too little memory', ['--fault', 'little_memory:0:0:67108864'], {77},
                  r'(?i)memory')
    else:
        table.run('one rank', ['--gpus', '1'], {0}, r'verdict: .*pass')
        table.run('no GPU', ['--backend', 'gpu'], {77, 0}, r'cannot run here|verdict: pass',
                  note='77 where there is none')
    shutil.rmtree(table.temporary, ignore_errors=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table.rows, indent=1) + '\n')
    wrong = [r for r in table.rows if r['state'] == 'WRONG']
    done = [r for r in table.rows if r['state'] == 'ok']
    print(f'{len(done)} as they must be, {len(wrong)} wrong, '
          f'{len(table.rows) - len(done) - len(wrong)} skipped')
    return 1 if wrong else 0 if done else 77


if __name__ == '__main__':
    sys.exit(main())
