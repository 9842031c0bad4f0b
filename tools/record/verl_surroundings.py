"""What stands around verl's own code when its programs are recorded: devices, process groups, Ray,
the hub, data, rollout servers. Everything here answers without deciding, but for sizes and ranks."""
import contextlib
import dataclasses
import importlib
import importlib.metadata
import importlib.util
import math
import os
import sys
import types
import typing

import stand_ins
from confined import environment_kept

PACKAGES = {"vllm": "0.12.0", "sglang": "0.5.6", "transformers": "4.57.0", "megatron-core": "0.16.0",
            "ray": "2.50.0", "tensordict": "0.10.0", "torch": "2.9.0", "transfer_queue": "0.1.9",
            "numpy": "1.26"}
MISSING = ("torch_npu mindspeed torchtitan veomni nemo_automodel modelscope nccl vllm_ascend npu "
           "torch_memory_saver torch.npu torch.mlu torch.xpu torch.musa "
           "megatron.core.distributed.fsdp.src").split()
OPTIMIZERS = ("Adam AdamW SGD Adamax Adagrad NAdam RAdam RMSprop Rprop ASGD LBFGS Adadelta Adafactor "
              "SparseAdam Muon Optimizer").split()
state = types.SimpleNamespace(world=8, capability=9, per_node=8)


def nothing(*args, **kwargs):
    return quiet


quiet = stand_ins.placeholder("quiet")


class Group:
    def __init__(self, ranks=None):
        self.ranks = list(ranks or [0])

    def size(self):
        return len(self.ranks)

    def rank(self):
        return self.ranks.index(0) if 0 in self.ranks else 0


class Mesh:
    """torch refuses a mesh that is larger than the world."""

    def __init__(self, device, mesh_shape=None, mesh_dim_names=None, **kwargs):
        if not 0 < math.prod(mesh_shape) <= state.world:
            raise RuntimeError("mesh of another size than the world")
        self.mesh_shape, self.mesh_dim_names = tuple(mesh_shape), mesh_dim_names
        self.ndim = len(mesh_shape)
        self.mesh = quiet

    def __getitem__(self, name):
        return self

    def __len__(self):
        return self.ndim

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_ins.placeholder(name)

    def size(self, *axis):
        return 1

    def get_rank(self):
        return 0

    def get_local_rank(self, *axis):
        return 0

    def get_coordinate(self):
        return [0] * self.ndim


class Optimizer:
    def __init__(self, *args, **kwargs):
        self.param_groups = []

    def __getattr__(self, name):
        return stand_ins.placeholder(name)


def install():
    """Before verl is imported."""
    stand_ins.ABSENT.update(MISSING)
    torch = stand_ins.install(["verl"])
    torch.__version__ = "2.9.0"
    for name, value in list(stand_ins.Dtype.known.items()):
        setattr(torch, name, f"torch.{name}")
    torch.half, torch.float, torch.long = "torch.float16", "torch.float32", "torch.int64"
    torch.Tensor = type("Tensor", (), {})
    torch.version = types.SimpleNamespace(hip=None, cuda="12.8")
    cuda, distributed = torch.cuda, torch.distributed
    cuda.is_available = lambda: True
    cuda.current_device = lambda: 0
    cuda.device_count = lambda: 8
    cuda.get_device_name = lambda *a: "NVIDIA H100"
    cuda.get_device_capability = lambda *a: (state.capability, 0)
    distributed.is_initialized = distributed.is_available = lambda: True
    distributed.new_group = lambda ranks=None, *a, **k: Group(ranks)
    distributed.get_process_group_ranks = lambda group=None: getattr(group, "ranks", [0])
    distributed.get_world_size = lambda group=None, *a, **k: (
        group.size() if isinstance(group, Group) else state.world)
    distributed.get_rank = lambda group=None, *a, **k: group.rank() if isinstance(group, Group) else 0
    import torch.distributed.device_mesh as meshes
    meshes.init_device_mesh = meshes.DeviceMesh = Mesh
    distributed.init_device_mesh = distributed.DeviceMesh = Mesh
    _optimizers(torch)
    _packages()
    return torch


def _optimizers(torch):
    """Of torch.optim the names that exist, and no others."""
    import torch.optim.lr_scheduler
    scheduler = sys.modules["torch.optim.lr_scheduler"]
    module = types.ModuleType("torch.optim")
    module.__path__ = []
    for name in OPTIMIZERS:
        setattr(module, name, type(name, (Optimizer,), {}))
    for name in ("adam", "adamw", "sgd", "adagrad", "optimizer"):
        setattr(module, name, types.ModuleType("torch.optim." + name))
    module.lr_scheduler = scheduler
    sys.modules["torch.optim"] = torch.optim = module


def _packages():
    real = importlib.metadata.version
    importlib.metadata.version = lambda name: PACKAGES.get(name) or real(name)
    import megatron.core
    import ray
    import ray._private.runtime_env.constants as constants
    import transformer_engine.pytorch.optimizers as fused
    import transformers
    import vllm.config.lora
    megatron.core.__version__ = PACKAGES["megatron-core"]
    ray.is_initialized = lambda *a: False
    ray.get = lambda value, *a, **k: value
    constants.RAY_JOB_CONFIG_JSON_ENV_VAR = "RAY_JOB_CONFIG_JSON_ENV_VAR"
    vllm.config.lora.MaxLoRARanks = typing.Literal[1, 8, 16, 32, 64, 128, 256, 320, 512]
    transformers.AutoConfig = type("AutoConfig", (), {
        "from_pretrained": staticmethod(lambda path, **k: HubModel(path))})

    class FusedAdam:
        def __init__(self, params, master_weight_dtype=None, exp_avg_dtype=None, exp_avg_sq_dtype=None,
                     use_decoupled_grad=None):
            pass
    fused.FusedAdam = FusedAdam


class HubModel:
    """One small description for every model; the path says what matters."""

    def __init__(self, path):
        self.model_type, self.architectures = "qwen2", ["Qwen2ForCausalLM"]
        self.tie_word_embeddings, self.num_attention_heads, self.num_key_value_heads = False, 32, 8
        self.hidden_size, self.num_hidden_layers, self.vocab_size = 4096, 32, 1000
        self._attn_implementation = "flash_attention_2"
        if "DeepSeek-V3" in str(path):
            self.model_type, self.architectures = "deepseek_v3", ["DeepseekV3ForCausalLM"]
            self.num_nextn_predict_layers = 1
        if "VL" in str(path):
            self.vision_config = types.SimpleNamespace()
            self.model_type = "qwen2_5_vl"
            self.architectures = ["Qwen2_5_VLForConditionalGeneration"]

    def to_dict(self):
        return dict(self.__dict__)

    def get(self, key, default=None):
        return getattr(self, key, default)

    def update(self, values):
        self.__dict__.update(values)


def megatron_groups(root):
    """Megatron-LM's own initialisation of process groups, and two of its configuration classes."""
    import megatron.core.distributed
    import megatron.core.optimizer

    def load(name, path):
        spec = importlib.util.spec_from_file_location(name, root + path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    core = sys.modules["megatron.core"]
    core.optimizer.OptimizerConfig = load("megatron.core.optimizer.optimizer_config",
                                          "megatron/core/optimizer/optimizer_config.py").OptimizerConfig
    ddp = load("megatron.core.distributed.distributed_data_parallel_config",
               "megatron/core/distributed/distributed_data_parallel_config.py")

    @dataclasses.dataclass
    class Wrapped(ddp.DistributedDataParallelConfig):
        use_layer_wise_param_layout: bool = False  # a field of the Megatron-Core that verl pins

        def finalize(self):
            pass
    core.distributed.DistributedDataParallelConfig = ddp.DistributedDataParallelConfig = Wrapped
    groups = load("megatron.core.parallel_state", "megatron/core/parallel_state.py")
    core.parallel_state = core.mpu = groups
    groups.is_torch_min_version = lambda *a, **k: True
    initialise, dynamic = groups.initialize_model_parallel, [False]

    def initialize_model_parallel(*args, dynamic_context_parallel=False, **kwargs):
        dynamic[0] = bool(dynamic_context_parallel)  # known to the Megatron-Core that verl pins
        return initialise(*args, **kwargs)

    def dynamic_groups(group_size=1):
        if not dynamic[0]:
            raise KeyError(group_size)
        return Group()
    groups.initialize_model_parallel = initialize_model_parallel
    groups.get_dynamic_data_context_parallel_groups = dynamic_groups
    return groups, Wrapped


@contextlib.contextmanager
def worker(world):
    """One process of a job with so many."""
    state_world = state.world
    state.world = world
    with environment_kept():
        os.environ.update(WORLD_SIZE=str(world), RANK="0", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
                          MASTER_ADDR="127.0.0.1", MASTER_PORT="1", CUDA_VISIBLE_DEVICES="0",
                          RAY_LOCAL_WORLD_SIZE=str(max(1, min(world, state.per_node))))
        for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
            os.environ.pop(name, None)
        try:
            yield
        finally:
            state.world = state_world
