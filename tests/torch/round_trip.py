"""Round trips with torch.distributed.checkpoint, bit for bit.

  round_trip.py WRITE_SAMPLE SHARDLINT

Ours to torch: load on one process, into DTensors on two (gloo), and through dcp_to_torch.
torch to ours: what torch saves from one and two ranks is checked, listed and compared.
Exit code 77 says that torch is not there; SHARDLINT_TORCH_PYTHON names an interpreter that has it.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
except ImportError as error:
    other = os.environ.get('SHARDLINT_TORCH_PYTHON')
    if other and other != sys.executable:
        os.execv(other, [other] + sys.argv)
    print('skipped: torch is not installed (%s)' % error)
    sys.exit(77)

DTYPES = ['float64', 'float32', 'float16', 'bfloat16', 'float8_e4m3fn', 'float8_e4m3fnuz', 'float8_e5m2',
          'float8_e5m2fnuz', 'float8_e8m0fnu', 'float4_e2m1fn_x2', 'int64', 'int32', 'int16', 'int8', 'uint64',
          'uint32', 'uint16', 'uint8', 'bool', 'complex128', 'complex64', 'complex32']
EXTRA = [('scalar', 'float32', ()), ('uneven', 'float32', (5, 3)), ('one_row', 'bfloat16', (1, 3)),
         ('four', 'float32', (4, 2, 3, 5)), ('none', 'float32', (0, 4))]
OBJECTS = {'step': 7, 'optim.param_groups.0.lr': 0.25, 'big': 5_000_000_000, 'pair': (0.9, False)}


def specs():
    return [('t_' + d, d, (8, 6)) for d in DTYPES] + EXTRA


def sample_bytes(index, count, dtype):
    i = torch.arange(count, dtype=torch.int64)
    values = (i * 37 + index * 101 + (i >> 8) * 11) & 0xff
    return (values & 1 if dtype == 'bool' else values).to(torch.uint8)


def sample(index, dtype, shape):
    kind = getattr(torch, dtype)
    count = torch.Size(shape).numel() * kind.itemsize
    return sample_bytes(index, count, dtype).view(kind).reshape(shape)


def raw(tensor):
    tensor = tensor.contiguous().reshape(-1)
    return tensor.view(torch.uint8) if tensor.numel() else tensor.to(torch.uint8)


def check_one_process(directory):
    wanted = {name: sample(i, dtype, shape) for i, (name, dtype, shape) in enumerate(specs())}
    state = {'model': {n: torch.zeros(t.shape, dtype=torch.uint8).to(t.dtype) if t.is_floating_point() and t.element_size() > 1
                       else torch.empty_like(t) for n, t in wanted.items()},
             'step': 0, 'big': 0, 'pair': None, 'args': None,
             'optim': {'param_groups': [{'lr': 0.0, 'unused': torch.zeros(0)}]}}
    del state['optim']
    dcp.load(state, checkpoint_id=directory, no_dist=True)
    for name, tensor in wanted.items():
        assert torch.equal(raw(state['model'][name]), raw(tensor)), name
    assert (state['step'], state['big'], state['pair']) == (7, 5_000_000_000, (0.9, False))
    assert vars(state['args']) == {'hidden_size': 64, 'name': 'tiny'}
    print('ok: torch loads %s on one process, %d tensors bit for bit' % (os.path.basename(directory), len(wanted)))


def check_converted(directory):
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'all.pt')
        dcp_to_torch_save(directory, path)
        state = torch.load(path, weights_only=False)
    for i, (name, dtype, shape) in enumerate(specs()):
        assert torch.equal(raw(state['model'][name]), raw(sample(i, dtype, shape))), name
    assert state['optim']['param_groups'][0]['lr'] == 0.25
    print('ok: dcp_to_torch converts %s' % os.path.basename(directory))


def worker(directory, out):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    dist.init_process_group('gloo')
    mesh = init_device_mesh('cpu', (dist.get_world_size(),))
    names = [(i, s) for i, s in enumerate(specs()) if s[1] in ('float32', 'bfloat16', 'int64') and s[2] and s[2][0]]
    for axis in (0, 1):
        state = {'model': {n: distribute_tensor(torch.zeros(shape, dtype=getattr(torch, d)), mesh, [Shard(axis)])
                           for _, (n, d, shape) in names}}
        dcp.load(state, checkpoint_id=directory)
        for i, (name, dtype, shape) in names:
            full = state['model'][name].full_tensor()
            assert torch.equal(raw(full), raw(sample(i, dtype, shape))), (name, axis)
        if axis == 0:
            dcp.save(state, checkpoint_id=out)
    if dist.get_rank() == 0:
        print('ok: torch loads %s into DTensors on %d ranks' % (os.path.basename(directory), dist.get_world_size()))
    dist.barrier()
    dist.destroy_process_group()


def launch(ranks, *arguments):
    env = dict(os.environ, OMP_NUM_THREADS='1', CUDA_VISIBLE_DEVICES='')
    subprocess.run([sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', str(ranks),
                    os.path.abspath(__file__), '--worker', *arguments], check=True, env=env, timeout=300)


def run(shardlint, *arguments):
    result = subprocess.run([shardlint, 'checkpoint', *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return result.returncode, result.stdout, result.stderr


def check_sound(shardlint, directory):
    """Nothing is wrong but that sample bytes, taken as floats, are sometimes NaN."""
    _, out, err = run(shardlint, 'check', '--deep', '--output-format', 'json', directory)
    found = {d['code'] + ' ' + d['message'] for d in json.loads(out)['diagnostics'] if d['name'] != 'nan-in-model'}
    assert not found, (directory, found, err)


def check_back(shardlint, ours, theirs):
    """What two ranks of torch loaded from us and saved again: bit for bit the same."""
    check_sound(shardlint, theirs)
    code, out, _ = run(shardlint, 'diff', '--output-format', 'json', ours, theirs)
    verdicts = {t['name']: t['verdict'] for t in json.loads(out)['tensors']}
    common = {n: v for n, v in verdicts.items() if v != 'only-a'}
    assert common and set(common.values()) == {'equal'}, common
    print('ok: %d tensors that torch saved on 2 ranks are equal to %s' % (len(common), os.path.basename(ours)))


def torch_to_ours(shardlint, folder):
    """Every element type saved by torch on one process: names, shapes, types, values."""
    ours, theirs = os.path.join(folder, 'written_by_1'), os.path.join(folder, 'saved_by_torch')
    state = {'model': {name: sample(i, dtype, shape) for i, (name, dtype, shape) in enumerate(specs())}, 'step': 7}
    dcp.save(state, checkpoint_id=theirs, no_dist=True)
    check_sound(shardlint, theirs)
    _, out, _ = run(shardlint, 'inspect', '--output-format', 'json', theirs)
    listed = {t['name']: (t['dtype'], tuple(t['shape'])) for t in json.loads(out)['parts'][0]['tensors']}
    assert listed == {'model.' + n: (d, tuple(s)) for n, d, s in specs()}, listed
    _, out, _ = run(shardlint, 'diff', '--output-format', 'json', ours, theirs)
    verdicts = {t['name']: t['verdict'] for t in json.loads(out)['tensors']}
    assert len(verdicts) == len(specs()) and set(verdicts.values()) == {'equal'}, verdicts
    _, out, _ = run(shardlint, 'inspect', '--tensor', 'model.uneven', '--output-format', 'json', theirs)
    read = json.loads(out)['tensors'][0]
    values = state['model']['uneven'].double()
    finite = values[torch.isfinite(values)]
    assert read['min'] == finite.min().item() and read['max'] == finite.max().item(), read
    print('ok: %d tensors that torch saved are read bit for bit' % len(verdicts))


def main():
    write_sample, shardlint = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        for ranks in (1, 2, 3):
            directory = os.path.join(folder, 'written_by_%d' % ranks)
            subprocess.run([write_sample, directory, str(ranks)], check=True)
            check_one_process(directory)
            check_converted(directory)
            launch(2, directory, os.path.join(folder, 'back_%d' % ranks))
            check_sound(shardlint, directory)
            check_back(shardlint, directory, os.path.join(folder, 'back_%d' % ranks))
        torch_to_ours(shardlint, folder)


if __name__ == '__main__':
    if sys.argv[1] == '--worker':
        worker(*sys.argv[2:])
    else:
        main()
