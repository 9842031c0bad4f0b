"""Run recipe functions and what training does with their configuration first, and say what it raises:
runtime_config_update(), which ends with validate().

    validate_recipes.py ROOT... -- [--set KEY=VALUE ...] [--world N] [--only FUNCTION ...] FILE... \
        > out.jsonl

As run_recipes.py, whose stand-ins it uses: ROOT are the folders from which `megatron` is imported,
FILE the modules whose functions are called. The world is --world, else as large as the recipe's
name says (..._16gpu_...), else the smallest that its parallel sizes allow. A model that would be read from
the network has made-up sizes: what its own finalize() raises is put aside ("model_raises").
"""
import ast
import math
import os
import re
import sys
import traceback
import types

import run_recipes


def world_of(name, model):
    tp = getattr(model, 'tensor_model_parallel_size', 1) or 1
    pp = getattr(model, 'pipeline_model_parallel_size', 1) or 1
    cp = getattr(model, 'context_parallel_size', 1) or 1
    ep = getattr(model, 'expert_model_parallel_size', 1) or 1
    etp = getattr(model, 'expert_tensor_parallel_size', None) or tp
    smallest = pp * math.lcm(tp * cp, etp * ep)
    told = re.search(r'_(\d+)gpu', name)
    return int(told.group(1)) if told else smallest


def place(error):
    """The innermost frame that lies in megatron, as file:line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if '/megatron/' in f.filename]
    if not frames:
        return ''
    return f"{frames[-1].filename.split('/megatron/', 1)[1]}:{frames[-1].lineno}"


def surroundings():
    """What the checks ask of the machine and of Transformer Engine: an H100, the newest engine."""
    import torch
    torch.cuda.get_device_properties = lambda *a, **k: types.SimpleNamespace(
        major=9, minor=0, name='NVIDIA H100')
    torch.cuda.get_device_capability = lambda *a, **k: (9, 0)
    torch.cuda.get_device_name = lambda *a, **k: 'NVIDIA H100'
    torch.cuda.current_device = lambda: 0

    def fused_adam(params, lr=0, master_weight_dtype=None, exp_avg_dtype=None, exp_avg_sq_dtype=None,
                   use_decoupled_grad=False, store_param_remainders=False, master_weights=False):
        pass
    from transformer_engine.pytorch import optimizers

    class FusedAdam:
        __init__ = fused_adam
    optimizers.FusedAdam = FusedAdam


def validate(name, config, overrides, ranks=None):
    import megatron.bridge.training.config as module
    out = {}
    for text in overrides:
        key, value = text.split('=', 1)
        *path, last = key.split('.')
        target = config
        for part in path:
            target = getattr(target, part)
        setattr(target, last, ast.literal_eval(value))
    world = out['world_size'] = ranks or world_of(name, config.model)
    for place_of in list(sys.modules.values()):
        if place_of and hasattr(place_of, 'get_world_size_safe') and (
                place_of.__name__.startswith('megatron.bridge')):
            place_of.get_world_size_safe = lambda: world
    module.get_world_size_safe = lambda: world
    before = dict(os.environ)
    if hasattr(config.model, '_opaque') and hasattr(config.model, 'finalize'):
        real = config.model.finalize

        def finalize():
            try:
                real()
            except Exception as error:  # noqa: BLE001
                out['model_raises'] = f'{type(error).__name__}: {error}'[:300]
        object.__setattr__(config.model, 'finalize', finalize)
    try:
        module.runtime_config_update(config)
        out['raises'] = None
    except Exception as error:  # noqa: BLE001
        out['raises'] = f'{type(error).__name__}: {error}'[:500]
        out['at'] = place(error)
    for variable in set(os.environ) - set(before):
        del os.environ[variable]
    os.environ.update(before)
    return out


def main():
    split = sys.argv.index('--')
    roots, rest = sys.argv[1:split], sys.argv[split + 1:]
    overrides, files, only, ranks = [], [], [], None
    while rest:
        word = rest.pop(0)
        if word == '--set':
            overrides.append(rest.pop(0))
        elif word == '--world':
            ranks = int(rest.pop(0))
        elif word == '--only':
            only.append(rest.pop(0))
        else:
            files.append(word)
    sys.path[:0] = roots
    run_recipes.prepare()
    surroundings()
    run_recipes.run_each(files, roots,
                         lambda name, function: validate(name, function(), overrides, ranks), only)


if __name__ == '__main__':
    main()
