"""Run recipe functions for real and print what they return, to compare with what is read statically.

    run_recipes.py ROOT... -- FILE... > out.jsonl

ROOT are the folders from which `megatron` is imported; FILE are the modules whose public functions
with a `-> ConfigContainer` annotation are called without arguments. torch has to be installed;
packages that are not are replaced by stand-ins, and so are the objects that a model's files on the
network would give (their fields come out as "opaque": only what a recipe assigns is compared).
Runs the code of the packages under ROOT: for trees that one trusts.
"""
import abc
import ast
import dataclasses
import enum
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sys
import types
import typing
import warnings

warnings.simplefilter('ignore')
if not hasattr(typing, 'override'):  # Python 3.11
    typing.override = lambda method: method


class StandInClass(abc.ABCMeta):
    def __getattr__(cls, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return StandIn()

    def register(cls, *args, **kwargs):
        return StandIn()

    def __iter__(cls):
        return iter(())

    def __contains__(cls, item):
        return False


class StandIn(metaclass=StandInClass):
    """Anything that a missing package may be asked for."""
    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    def __class_getitem__(cls, item):
        return cls

    def __getattr__(self, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]
        return StandIn()

    def __iter__(self):
        return iter(())

    def __contains__(self, item):
        return False

    def __getitem__(self, key):
        return StandIn()

    def __setitem__(self, key, value):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    def __mro_entries__(self, bases):
        return (StandIn,)


class StandInModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        if name[0].isupper():
            value = type(name, (StandIn,), {'__module__': self.__name__})
        else:
            value = StandIn()
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    # Distribution names that code asks for versions of.
    missing = ('transformer_engine transformers omegaconf hydra datasets megatron_energon energon '
               'nvidia_resiliency_ext nvtx wandb mlflow comet_ml tensorstore zarr modelopt apex '
               'mamba_ssm causal_conv1d einops multistorageclient tiktoken '
               'diffusers qwen_vl_utils timm open_clip sentencepiece tokenizers nemo_run '
               'huggingface_hub safetensors webdataset rich tqdm regex yaml requests pandas '
               'imageio av cv2 soundfile emerging_optimizers '
               'flashinfer deep_ep fla quack cutlass triton onnx pydantic hydra psutil '
               'bitstring decord easydict ftfy nltk mock nvdlfw_inspect fast_hadamard_transform '
               'flash_attn PIL google torchvision torchaudio librosa torchao peft accelerate setproctitle aiohttp fastapi uvicorn flask flask_restful zmq msgpack ray httpx '
               'tensorboard simpy scipy sklearn ijson cuda').split()

    def find_spec(self, name, path, target=None):
        top = name.split('.')[0]
        if top not in self.missing and not name.startswith('megatron.energon'):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = StandInModule(spec.name)
        module.__path__ = []
        module.__version__ = '99.0.0'
        return module

    def exec_module(self, module):
        pass


def install():
    for top in list(Finder.missing):
        if importlib.util.find_spec(top) is not None:
            Finder.missing.remove(top)
    sys.meta_path.insert(0, Finder())
    import importlib.metadata as metadata
    real = metadata.version


    def version(name):
        stood_in = name.replace('-', '_').split('_cu1')[0] in Finder.missing
        return '99.0.0' if stood_in else real(name)
    metadata.version = version


def opaque_model():
    """What a bridge would build from a model's files: a real provider with made-up sizes."""
    from megatron.bridge.models.gpt_provider import GPTModelProvider
    made = GPTModelProvider(num_layers=61, hidden_size=8192, num_attention_heads=64,
                            num_moe_experts=256, vocab_size=128000, mtp_num_layers=None,
                            add_bias_linear=False, moe_token_dispatcher_type='alltoall')
    object.__setattr__(made, '_opaque', True)
    return made


class Bridge:
    def to_megatron_provider(self, *args, **kwargs):
        return opaque_model()

    get_model_config = to_megatron_provider

    def __getattr__(self, name):
        return StandIn()


def plain(value, seen=()):
    import torch
    if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, torch.dtype):
        return str(value).split('.')[-1]
    if isinstance(value, (list, tuple)):
        return [plain(v, seen) for v in value]
    if isinstance(value, (set, frozenset)):
        return {'unordered': sorted(str(plain(v, seen)) for v in value)}
    if isinstance(value, dict):
        return {str(k): plain(v, seen) for k, v in value.items()}
    return {'object': f'{type(value).__module__}.{type(value).__qualname__}'}


def leaves(value, prefix, out, seen):
    if id(value) in seen or len(prefix) > 300:
        return
    seen = seen | {id(value)}
    if not dataclasses.is_dataclass(value) and type(value).__module__.split('.')[0] not in (
            'megatron', 'types') or isinstance(value, (type, types.FunctionType, enum.Enum)):
        out[prefix] = plain(value)
        return
    out[prefix + '._type' if prefix else '_type'] = (
        f'{type(value).__module__}.{type(value).__qualname__}')
    names = [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    for name in list(dict.fromkeys(names + list(getattr(value, '__dict__', {})))):
        if name.startswith('_'):
            continue
        try:
            inner = getattr(value, name)
        except AttributeError:
            continue
        leaves(inner, f'{prefix}.{name}' if prefix else name, out, seen)


def recipe_names(file):
    """The public functions of a module that promise a configuration."""
    return [n.name for n in ast.parse(pathlib.Path(file).read_text()).body
            if isinstance(n, ast.FunctionDef) and not n.name.startswith('_') and n.returns
            and 'ConfigContainer' in ast.unparse(n.returns) and '[' not in ast.unparse(n.returns)]


def module_of(file, roots):
    path = pathlib.Path(file)
    root = next(r for r in roots if path.is_relative_to(r))
    name = '.'.join(path.relative_to(root).with_suffix('').parts)
    return name[:-9] if name.endswith('.__init__') else name


def prepare():
    """Stand-ins in place of what is missing, and of what a model's files would give."""
    install()
    import torch
    torch.compile = lambda f=None, **k: f if f is not None else (lambda g: g)
    torch.jit.script = lambda f, **k: f
    torch.fx.wrap = lambda f: f
    torch.cuda.is_available = lambda: False
    from megatron.bridge import AutoBridge
    for name in ('from_hf_pretrained', 'from_hf_config', 'from_auto_config'):
        if hasattr(AutoBridge, name):
            setattr(AutoBridge, name, staticmethod(lambda *a, **k: Bridge()))


def leaves_of(result):
    out = {}
    leaves(result, '', out, frozenset())
    return {'facts': out, 'opaque': hasattr(result.model, '_opaque')}


def run_each(files, roots, use, only=()):
    """Prints a row for each recipe function: what use(name, function) gives, or its error."""
    for file in files:
        names = [name for name in recipe_names(file) if not only or name in only]
        try:
            module = importlib.import_module(module_of(file, roots)) if names else None
        except BaseException as error:  # noqa: BLE001
            for name in names:
                print(json.dumps({'file': file, 'instance': name,
                                  'error': f'import: {type(error).__name__}: {error}'[:300]}))
            continue
        for name in names:
            os.environ.pop('CUDA_DEVICE_MAX_CONNECTIONS', None)
            row = {'file': file, 'instance': name}
            try:
                row.update(use(name, getattr(module, name)))
            except BaseException as error:  # noqa: BLE001
                row['error'] = f'{type(error).__name__}: {error}'[:300]
            print(json.dumps(row))
        sys.stdout.flush()


def main():
    split = sys.argv.index('--')
    roots, files = sys.argv[1:split], sys.argv[split + 1:]
    sys.path[:0] = roots
    prepare()
    run_each(files, roots, lambda name, function: leaves_of(function()))


if __name__ == '__main__':
    main()
