"""`shardlint verify` with the real trainer on the CPU, from the command line: TAP, a point a row."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

shardlint, trainers = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
work = pathlib.Path(tempfile.mkdtemp(prefix='shardlint-e2e-'))
environment = {k: v for k, v in os.environ.items()
               if not k.startswith(('SLURM_', 'OMPI_')) and k not in ('RANK', 'WORLD_SIZE')}
environment['SHARDLINT_LIBEXEC'] = trainers
QUICK = ['--steps', '2', '--collective-sizes', '4096', '--backend', 'cpu', '--yes']

(work / 'train.yaml').write_text('''model:
  tensor_model_parallel_size: 2
  bf16: true
dist:
  use_megatron_fsdp: true
ddp:
  use_megatron_fsdp: true
  data_parallel_sharding_strategy: optim_grads
  overlap_grad_reduce: true
checkpoint:
  save: /tmp/nowhere
  ckpt_format: fsdp_dtensor
''')
(work / 'job.sh').write_text('''echo "connections $CUDA_DEVICE_MAX_CONNECTIONS"
echo " iteration        2/       2 | lm loss: 1.0E+00 | number of nan iterations:   0 |"
echo "===== 1 passed in 0.10s ====="
''')


def run(arguments, extra=None):
    return subprocess.run([shardlint, 'verify', *arguments], cwd=work, capture_output=True,
                          text=True, timeout=300, stdin=subprocess.DEVNULL,
                          env=dict(environment, **(extra or {})))


# name, arguments, exit code, pattern of stdout + stderr
ROWS = [
    ('tiny preset, every check', ['--backend', 'cpu', '--preset', 'tiny', '--yes', '--save', 'kept'],
     0, r'verdict: pass'),
    ('the same folder again', QUICK + ['--save', 'kept'], 2, r'holds a checkpoint already'),
    ('CONFIG, one process a rank', QUICK + ['train.yaml', '--framework', 'megatron-bridge', '--force',
                                            '--processes'],
     0, r'! train.yaml:2: model.tensor_model_parallel_size.*verdict: data-parallel part only'),
    ('an injected NaN', QUICK + ['--checks', 'finite', '--fault', 'nan_gradient:1:1'], 1,
     r'VFY103 .*verdict: fail: finite'),
    ('a rank that is killed', QUICK + ['--processes', '--fault', 'kill:1:1'], 2,
     r'rank 1 was ended by SIGKILL'),
    ('all strategies', QUICK + ['--compare', '--checks', 'finite', '--plot', 'p.svg'], 0,
     r'strategies compared'),
    ('no terminal', ['--backend', 'cpu'], 2, r'no terminal to ask on'),
    ('dry run', ['--backend', 'cpu', '--dry-run', '--save', 'other'], 0, r'writes .* below other'),
    ('own command', ['--yes', '--run', '--', 'sh', 'job.sh'], 0, r'verdict: pass'),
    ('own command that stalls', ['--yes', '--stall', '0.5', '--run', '--', 'sleep', '60'], 1,
     r'VFY201'),
]

failed = 0
print(f'1..{len(ROWS) + 2}')
for number, (name, arguments, code, pattern) in enumerate(ROWS, 1):
    done = run(arguments)
    output = done.stdout + done.stderr
    good = done.returncode == code and re.search(pattern, output, re.S)
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    if not good:
        failed += 1
        print(f'# exit {done.returncode}\n' + ''.join(f'# {l}\n' for l in output.splitlines()[-30:]))

# The evidence of the first run was replaced by later ones; it is whole, and the kept checkpoint is.
evidence = json.loads((work / 'shardlint-verify.json').read_text())
kept = subprocess.run([shardlint, 'checkpoint', 'check', '--deep', 'kept'], cwd=work,
                      capture_output=True, text=True)  # with the tracker that Megatron's loader reads
good = evidence['tool'] == 'shardlint verify' and kept.returncode == 0 \
    and (work / 'p.svg').read_text().startswith('<svg')
print(f"{'ok' if good else 'not ok'} {len(ROWS) + 1} - evidence, plot and kept checkpoint")
if not good:
    failed += 1
    print(''.join(f'# {l}\n' for l in (kept.stdout + kept.stderr).splitlines()[-20:]))

# Two processes that somebody else launched: each is one rank, the first one tells.
ranks = [subprocess.Popen([shardlint, 'verify', *QUICK, '--checks', 'finite', '--evidence', 'r.json'],
                          cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL,
                          env=dict(environment, RANK=str(r), WORLD_SIZE='2', LOCAL_RANK=str(r)))
         for r in range(2)]
outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
good = [r.returncode for r in ranks] == [0, 0] and 'verdict: pass' in outputs[0] \
    and 'verdict' not in outputs[1]
print(f"{'ok' if good else 'not ok'} {len(ROWS) + 2} - ranks of somebody else's launcher")
if not good:
    failed += 1
    print(''.join(f'# {l}\n' for o in outputs for l in o.splitlines()[-20:]))
shutil.rmtree(work, ignore_errors=True)
sys.exit(failed > 0)
