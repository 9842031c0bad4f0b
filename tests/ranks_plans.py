"""Runs plans on shardlint-verify-cpu and compares verdicts: a row a plan. TAP.

The model is as small as the kernels allow, so that a row takes a fraction of a second.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TRAINER = sys.argv[1]
SMALL = {
    'model': {'layers': 1, 'hidden': 64, 'heads': 1, 'vocab': 64, 'sequence': 64},
    'train': {'steps': 2, 'micro_batch': 1},
    'collectives': {'sizes': [65536], 'repeats': 1},
    'deadlines': {'start': 30, 'phase': 20, 'heartbeat': 0.2},
}


def plan(**changes):
    result = json.loads(json.dumps(SMALL))
    for key, value in changes.items():
        if isinstance(value, dict):
            result.setdefault(key, {}).update(value)
        else:
            result[key] = value
    return result


def fault(kind, **more):
    return [dict({'kind': kind, 'rank': 1, 'step': 1}, **more)]


# name, plan, exit code, outcome, the checks that must not pass
ROWS = [
    ('defaults', plan(), 0, 'pass', []),
    ('one rank', plan(ranks=1), 0, 'pass', ['collectives', 'replicas']),
    ('three ranks', plan(ranks=3, parallel={'strategy': 'optim'}), 0, 'pass', []),
    ('no_shard', plan(parallel={'strategy': 'no_shard'}), 0, 'pass', []),
    ('HSDP', plan(ranks=4, parallel={'outer_size': 2}), 0, 'pass', []),
    ('accumulation', plan(train={'micro_batches': 2}, parallel={'strategy': 'optim_grads'}), 0,
     'pass', []),
    ('average in the collective', plan(parallel={'average_in_collective': True}), 0, 'pass', []),
    ('twelve steps', plan(train={'steps': 12, 'learning_rate': 1e-2}, checks=['parity']), 0, 'pass', []),
    ('reduction in bf16', plan(parallel={'reduce_dtype': 'bf16'}), 0, 'pass', []),
    ('no overlap, clipping', plan(train={'clip': 0.5}, parallel={
        'overlap_grad_reduce': False, 'overlap_param_gather': False}), 0, 'pass', []),
    ('experts', plan(ranks=4, model={'experts': 4, 'top_k': 2}, parallel={
        'expert_parallel': 2, 'average_in_collective': True}), 0, 'pass', []),
    ('async save', plan(checkpoint={'asynchronous': True}), 0, 'pass', []),
    ('fresh data, all strategies timed', plan(train={'fixed_batch': False}, compare=True,
                                              checks=['finite', 'memory']), 0, 'pass', []),
    # The checkpoint of what a NaN left behind is found out by its validation.
    ('NaN', plan(faults=fault('nan_gradient')), 1, 'fail', ['checkpoint', 'finite', 'parity']),
    ('scaled gradient', plan(faults=fault('scale_gradient', factor=2.0)), 1, 'fail', ['parity']),
    ('corrupt shard', plan(train={'steps': 4}, faults=fault('corrupt_shard')), 1, 'fail', ['parity']),
    ('corrupt shard, replicas', plan(parallel={'strategy': 'no_shard'}, faults=fault('corrupt_shard'),
                                     checks=['replicas']), 1, 'fail', ['replicas']),
    ('corrupt checkpoint', plan(faults=fault('corrupt_checkpoint')), 1, 'fail', ['checkpoint']),
    ('ECC, simulated', plan(faults=fault('ecc_error')), 1, 'fail', ['environment']),
    ('no peer access, simulated', plan(faults=fault('no_peer_access')), 1, 'fail', ['environment']),
    ('hang', plan(faults=fault('hang'), deadlines={'phase': 2, 'heartbeat': 0.2}), 2, 'hang', None),
    ('typo', plan(parallel={'overlap': True}), 2, None, None),
]


def events_of(text):
    return [json.loads(line) for line in text.splitlines()]


def run_row(the_plan, code, outcome, not_passed):
    done = subprocess.run([TRAINER, '--plan', '-'], input=json.dumps(the_plan), text=True,
                          capture_output=True, timeout=120)
    events = events_of(done.stdout)
    reports = [e['report'] for e in events if e['event'] == 'report']
    problems = []
    if done.returncode != code:
        problems.append(f'exit code {done.returncode}, expected {code}: {done.stderr[-300:]}')
    if (reports[0]['outcome'] if reports else None) != outcome:
        problems.append(f'outcome {reports[0]["outcome"] if reports else None}, expected {outcome}')
    if reports and not_passed is not None:
        wrong = sorted(c['name'] for c in reports[0]['checks'] if c['verdict'] != 'pass')
        if wrong != sorted(not_passed):
            problems.append(f'not passed: {wrong}, expected {sorted(not_passed)}: ' +
                            '; '.join(c['reason'] for c in reports[0]['checks']
                                      if c['verdict'] != 'pass'))
    return problems


def ranks_as_processes(the_plan, launcher):
    """Starts one process a rank; returns them with the folder they share."""
    folder = tempfile.mkdtemp()
    the_plan = dict(the_plan, mode='processes', store='file:' + folder + '/store')
    path = folder + '/plan.json'
    with open(path, 'w') as file:
        json.dump(the_plan, file)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM_', 'OMPI_', 'RANK'))}
    return folder, [
        subprocess.Popen([TRAINER, '--plan', path], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE,
                         env=dict(clean, **{n: str(v) for n, v in zip(launcher, (r, 2, r))}))
        for r in range(2)]


LAUNCHERS = {
    'torchrun': ('RANK', 'WORLD_SIZE', 'LOCAL_RANK'),
    'srun': ('SLURM_PROCID', 'SLURM_NTASKS', 'SLURM_LOCALID'),
    'Open MPI': ('OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE', 'OMPI_COMM_WORLD_LOCAL_RANK'),
}


def processes_pass(launcher):
    folder, ranks = ranks_as_processes(plan(), LAUNCHERS[launcher])
    outputs = [r.communicate(timeout=120) for r in ranks]
    shutil.rmtree(folder)
    reports = [e for e in events_of(outputs[0][0]) if e['event'] == 'report']
    if [r.returncode for r in ranks] != [0, 0] or reports[0]['report']['outcome'] != 'pass':
        return [f'{[r.returncode for r in ranks]} {outputs[0][1][-300:]} {outputs[1][1][-300:]}']
    return []


def lost_rank(kind):
    """A rank that dies or stops: the other one's watchdog ends it with a verdict."""
    folder, ranks = ranks_as_processes(
        plan(faults=fault(kind), checks=['finite'], deadlines={'phase': 2, 'heartbeat': 0.2}),
        LAUNCHERS['torchrun'])
    out, _ = ranks[0].communicate(timeout=60)
    problems = [] if ranks[0].returncode == 2 else [f'rank 0 left with {ranks[0].returncode}']
    if not any(e['event'] == 'error' and e['kind'] == 'hang' for e in events_of(out)):
        problems.append('no verdict of a hang')
    if kind == 'stop':
        ranks[1].send_signal(signal.SIGKILL)
    ranks[1].communicate(timeout=60)
    if ranks[1].returncode != -signal.SIGKILL:
        problems.append(f'rank 1 left with {ranks[1].returncode}')
    shutil.rmtree(folder, ignore_errors=True)
    return problems


def refused_folder():
    """A checkpoint that exists already is not touched."""
    folder = tempfile.mkdtemp()
    os.mkdir(folder + '/iter_0000002')
    open(folder + '/iter_0000002/.metadata', 'w').close()
    problems = run_row(plan(checkpoint={'directory': folder}), 1, 'fail', ['checkpoint'])
    if os.listdir(folder) != ['iter_0000002'] or os.listdir(folder + '/iter_0000002') != ['.metadata']:
        problems.append('the folder was changed')
    shutil.rmtree(folder)
    return problems


def terminated():
    """SIGTERM: an event, exit 2, within a second, nothing left behind."""
    folder = tempfile.mkdtemp()
    process = subprocess.Popen([TRAINER, '--plan', '-'], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, TMPDIR=folder))
    process.stdin.write(json.dumps(plan(train={'steps': 100000}, checks=['finite'])))
    process.stdin.close()
    while '"step"' not in process.stdout.readline():
        pass
    begun = time.time()
    process.send_signal(signal.SIGTERM)
    rest = process.stdout.read()
    process.wait(timeout=20)
    problems = [] if process.returncode == 2 else [f'left with {process.returncode}']
    if '"aborted"' not in rest:
        problems.append('no event')
    if time.time() - begun > 10:
        problems.append('took long')
    if os.listdir(folder):
        problems.append('left ' + str(os.listdir(folder)))
    shutil.rmtree(folder)
    return problems


CASES = [(name, lambda row=row: run_row(*row)) for name, *row in ROWS]
CASES += [('processes of ' + name, lambda name=name: processes_pass(name)) for name in LAUNCHERS]
CASES += [('killed rank', lambda: lost_rank('kill')), ('stopped rank', lambda: lost_rank('stop')),
          ('existing checkpoint', refused_folder), ('SIGTERM', terminated)]

print(f'1..{len(CASES)}')
for number, (name, run) in enumerate(CASES, 1):
    try:
        problems = run()
    except Exception as error:  # a row that breaks is a row that fails
        problems = [repr(error)]
    print(f'{"not ok" if problems else "ok"} {number} {name}', flush=True)
    for problem in problems:
        print('# ' + problem)
