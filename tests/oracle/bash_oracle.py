"""Compare what the evaluator claims of launch scripts with what a real bash passes on.

bash_oracle.py SHELL_WORDS REPOSITORY... [--verbose]
Every script of the repositories is run by sandbox.sh: own mount, process and network namespaces,
read-only root, no capabilities, launchers replaced by stubs that note their words. Needs root.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
LAUNCHERS = {'python', 'python3', 'torchrun', 'uv', 'ray', 'srun', 'mpirun', 'accelerate',
             'deepspeed', 'python3.10', 'python3.12', 'python3.11', 'docker', 'nsys'}


def real_commands(repository, script):
    with tempfile.TemporaryDirectory() as log:
        subprocess.run(['unshare', '-m', '-n', '-p', '-i', '-u', '-f', '--mount-proc', 'bash',
                        str(HERE / 'sandbox.sh'), str(repository), log, str(script), *environment_of(script)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        file = pathlib.Path(log) / 'words'
        raw = file.read_bytes().split(b'\0')[:-1] if file.exists() else []
    out, at = [], 0
    while at < len(raw):
        count = int(raw[at])
        out.append([word.decode(errors='replace') for word in raw[at + 1:at + 1 + count]])
        at += 1 + count
    return [words for words in out if words and words[0] in LAUNCHERS and is_program(words)]


def is_program(words):
    """A launch of a program: a .py file or a module, not python -c."""
    if words[0] in ('srun', 'sbatch', 'docker') and any(
            word in ('bash', 'sh') or word.endswith('.sh') for word in words):
        return False  # followed: what runs inside is compared
    for index, word in enumerate(words[1:], 1):
        if word == '-c' and words[index - 1].startswith('python'):
            return False
        if word.endswith('.py') or (word == '-m' and index + 1 < len(words)):
            return words[index + 1:index + 2] != ['pip'] and words[index + 1:index + 2] != ['venv']
    return False


def claimed_commands(tool, script):
    run = subprocess.run([tool, str(script)], capture_output=True, text=True, errors='replace')
    return [json.loads(line) for line in run.stdout.splitlines()]


def fits(claim, word):
    if claim['known']:
        return claim['text'] == word
    parts = [re.escape(part) for part in claim['text'].split('\x1a')]
    return re.fullmatch('.*'.join(parts), word, re.S) is not None


def align(claimed, real):
    """The counts (known, partly, unknown, conditional) of the best agreement, or None."""
    best = {(0, 0): (0, 0, 0, 0)}
    for i in range(len(claimed) + 1):
        for j in range(len(real) + 1):
            here = best.get((i, j))
            if here is None:
                continue
            if i == len(claimed):
                continue
            claim = claimed[i]
            if claim['conditional'] or claim['open']:
                keep(best, (i + 1, j), here)
            if j < len(real):
                if fits(claim, real[j]) or (i == 0 and claim['text'].split('/')[-1] == real[0]):
                    kind = (3 if claim['conditional'] else 0 if claim['known'] else
                            1 if claim['text'] != '\x1a' else 2)
                    if i == 0:
                        kind = 0
                    keep(best, (i + 1, j + 1),
                         tuple(n + (k == kind) for k, n in enumerate(here)))
                if claim['open']:
                    keep(best, (i, j + 1), (here[0], here[1], here[2] + 1, here[3]))
    return best.get((len(claimed), len(real)))


def keep(best, place, counts):
    if place not in best or best[place] < counts:
        best[place] = counts


def nearest(claims, real):
    def common(claim):
        known = {word['text'] for word in claim['words'] if word['known']}
        return len(known & set(real))
    return max(claims, key=common, default=None)


def differences(claim, real):
    known = [word['text'] for word in claim['words'] if word['known'] and not word['conditional']]
    real_set = set(real)
    wrong = [word for word in known[1:] if word not in real_set]
    claimed = {word['text'] for word in claim['words']}
    return wrong, [word for word in real if word not in claimed]


def resolved(claim, ran):
    """Whether the set of flags is known: unknowns only in values, none that bash would resolve."""
    after_flag = False
    for word in claim['arguments']:
        text = word['text']
        if word['conditional']:
            return False, f'conditional {word["shown"]}'
        if word['known']:
            after_flag = text.startswith('-') and '=' not in text
            continue
        if ran and not set(word['reasons']) & {'argument', 'env', 'machine'}:
            return False, f'{word["reasons"]} {word["shown"]}'
        head = text.split('\x1a')[0]
        if text == '\x1a' and not after_flag and not word['open']:
            return False, f'word {word["shown"]}'
        if head.startswith('-') and '=' not in head:
            return False, f'flag {word["shown"]}'
        after_flag = False
    return True, ''


def environment_of(script):
    """What sbatch would set from the script's own headers."""
    out = {}
    for line in script.read_text(errors='replace').splitlines():
        found = re.match(r'#SBATCH\s+(--nodes|-N|--ntasks-per-node|--ntasks|-n|--gpus-per-node|--job-name|-J)[= ]*(\S+)', line)
        if found:
            for name in {'--nodes': ('SLURM_NNODES', 'SLURM_JOB_NUM_NODES'), '-N': ('SLURM_NNODES', 'SLURM_JOB_NUM_NODES'),
                         '--ntasks-per-node': ('SLURM_NTASKS_PER_NODE',), '--ntasks': ('SLURM_NTASKS', 'SLURM_NPROCS'),
                         '-n': ('SLURM_NTASKS', 'SLURM_NPROCS'), '--gpus-per-node': ('SLURM_GPUS_PER_NODE',),
                         '--job-name': ('SLURM_JOB_NAME',), '-J': ('SLURM_JOB_NAME',)}[found.group(1)]:
                out.setdefault(name, found.group(2))
    return [f'{name}={value}' for name, value in out.items()]


def check(job):
    tool, repository, script = job
    try:
        real = real_commands(repository, script)
    except (subprocess.TimeoutExpired, ValueError):
        return script, None, [], []
    claims = claimed_commands(tool, script)
    return script, real, claims, [None]


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith('--')]
    verbose = '--verbose' in sys.argv
    tool, repositories = arguments[0], arguments[1:]
    jobs = []
    for repository in repositories:
        repository = pathlib.Path(repository).resolve()
        if repository.is_file():
            root = next(p for p in repository.parents if (p / '.git').exists() or p.parent.name == 'up')
            jobs.append((tool, root, repository))
            continue
        jobs += [(tool, repository, script) for script in sorted(repository.rglob('*'))
                 if script.suffix in ('.sh', '.slurm', '.sbatch') and script.is_file()]
    total = dict(scripts=len(jobs), launching=0, launches=0, agreeing=0, identical=0, disagreeing=0,
                 missing=0, training=0, resolved=0, known=0, partly=0, unknown=0, conditional=0, static_only=0)
    with ThreadPoolExecutor(2) as pool:
        for script, real, claims, _ in pool.map(check, jobs):
            candidates = [claim for claim in claims if is_program([w['text'] for w in claim['words']])
                          or claim['launch']]
            training = [claim for claim in claims if claim.get('framework')]
            if training:
                total['training'] += 1
                answers = [resolved(claim, bool(real)) for claim in training]
                total['resolved'] += all(ok for ok, _ in answers)
                for ok, why in answers:
                    if not ok:
                        print(f'{script}: unresolved: {why[:150]}')
                        break
            if not real:
                total['static_only'] += bool(candidates)
                continue
            total['launching'] += 1
            for words in real:
                total['launches'] += 1
                counts = [align(claim['words'], words) for claim in candidates]
                counts = [c for c in counts if c is not None]
                if counts:
                    best = max(counts)
                    total['agreeing'] += 1
                    total['identical'] += best[0] == len(words)
                    for key, n in zip(('known', 'partly', 'unknown', 'conditional'), best):
                        total[key] += n
                    continue
                claim = nearest(candidates, words)
                if claim is None:
                    total['missing'] += 1
                    print(f'{script}: not found: {" ".join(words)[:200]}')
                    continue
                total['disagreeing'] += 1
                wrong, lacking = differences(claim, words)
                print(f'{script}:{claim["line"]}: claimed {wrong[:6]} real {lacking[:6]}')
                if verbose:
                    print('  claimed', [w['shown'] for w in claim['words']])
                    print('  real   ', words)
    print(json.dumps(total))
    sys.exit(total['disagreeing'] > 0)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('skipped: needs root for mount namespaces')
        sys.exit(77)
    main()
