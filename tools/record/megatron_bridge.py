"""Megatron-Bridge: its own runtime_config_update (environment, mixed precision, communication overlap,
validate) on configurations of its recipes with changed values."""
import copy
import dataclasses
import enum
import importlib
import importlib.metadata
import logging
import pathlib
import re
import sys
import traceback
import types

import stand_ins
from aims import aims
from confined import environment, quiet
from source import Source

NOTE = ("runtime_config_update of the checkout, preceded by the constructors of the sections in `rebuild`; "
        "torch, Transformer Engine and all other packages are stand-ins; changed: file_exists (answers "
        "from existing_paths), has_nvrx_checkpointing_async_support (from nvrx), the fused permutation "
        "kernels (absent below Transformer Engine 2.1), AutoBridge.from_hf_pretrained (small models). "
        "Configuration of a case: bases[base] with config over it (\"<absent>\": no such path); enums, "
        "dtypes and callables by name; ._type is a section's class, core. marks Megatron-Core's")
CORE = "mcore@"
# Where the checks stand; of Megatron-Core the classes that the configuration is made of.
CHECKS = ["src/megatron/bridge/training/" + n for n in (
    "config.py", "comm_overlap.py", "mixed_precision.py", "utils/checkpoint_utils.py")] + [
    "src/megatron/bridge/utils/cuda_graph.py", "src/megatron/bridge/models/gpt_provider.py",
    "src/megatron/bridge/models/mla_provider.py", "src/megatron/bridge/data/builders/gpt_sft.py",
    "src/megatron/bridge/data/builders/direct_hf_sft.py"]
CORE_CHECKS = ["megatron/core/transformer/transformer_config.py", "megatron/core/model_parallel_config.py",
               "megatron/core/optimizer/optimizer_config.py",
               "megatron/core/distributed/distributed_data_parallel_config.py",
               "megatron/training/config/training_config.py",
               "megatron/training/config/common_config.py",
               "megatron/training/config/resilience_config.py"]
TRUTH = [True, False]
DTYPES = ["torch.float32", "torch.bfloat16", "torch.float16"]
# Values by the last part of the path, where type and literals of the checks do not give them.
VALUES = {
    "tensor_model_parallel_size": [1, 2, 2, 4, 8, 3], "pipeline_model_parallel_size": [1, 2, 2, 4, 8],
    "context_parallel_size": [1, 2, 2, 4, 3], "expert_model_parallel_size": [1, 2, 4, 8],
    "expert_tensor_parallel_size": [None, 1, 2, 4], "num_moe_experts": [None, 0, 8, 8, 64, 6],
    "virtual_pipeline_model_parallel_size": [None, 1, 2, 4, 3], "num_layers": [8, 8, 7, 12, 4],
    "num_attention_heads": [8, 6, 16], "num_query_groups": [None, 1, 2, 4, 8, 3],
    "num_layers_in_first_pipeline_stage": [None, 1, 2, 3], "num_layers_in_last_pipeline_stage": [None, 1, 3],
    "pipeline_model_parallel_layout": [None, "Etttt|ttttL", "Et|tL", "Ettt|tttttL", "tttt|ttttL"],
    "cp_comm_type": [None, "p2p", "a2a", "allgather", "a2a+p2p", ["p2p"] * 8],
    "hierarchical_context_parallel_sizes": [None, [2, 2], [1, 2], [2]],
    "fp8": [None, "hybrid", "e4m3"], "fp4": [None, "e2m1"],
    "fp8_recipe": ["delayed", "tensorwise", "mxfp8", "blockwise"],
    "mixed_precision": [None, "bf16_mixed", "fp16_mixed", "bf16_with_mxfp8_mixed",
                        "bf16_with_fp8_delayed_scaling_mixed", "bf16_with_fp8_current_scaling_mixed",
                        "bf16_with_nvfp4_mixed", "nonsense"],
    "recompute_granularity": [None, "full", "selective", "selective"],
    "recompute_method": [None, "block", "uniform"], "recompute_num_layers": [None, 1, 2],
    "recompute_modules": [None, [], ["core_attn"], ["moe_act", "layernorm"], ["mlp"], ["mla_up_proj"]],
    "offload_modules": [[], ["core_attn"], ["attn_norm"], ["moe_act", "expert_fc1"], ["nonsense"]],
    "cuda_graph_impl": ["none", "transformer_engine", "local", "full_iteration"],
    "cuda_graph_modules": [[], ["attn"], ["mlp"], ["moe"], ["moe_router"], ["attn", "mlp"],
                           ["full_iteration"], ["full"]],
    "cuda_graph_scope": [None, "full", "attn", "full_iteration"],
    "inference_cuda_graph_scope": [None, "none", "layer", "block"],
    "moe_token_dispatcher_type": ["alltoall", "allgather", "flex"],
    "moe_flex_dispatcher_backend": [None, "deepep", "hybridep"],
    "moe_router_load_balancing_type": ["aux_loss", "none", "sinkhorn", ["aux_loss", "seq_aux_loss"]],
    "moe_expert_capacity_factor": [None, 1.0, -1.0], "moe_router_topk": [1, 2, 4],
    "moe_shared_expert_intermediate_size": [None, 256], "moe_layer_freq": [1, 2, [0, 1] * 4],
    "moe_router_num_groups": [None, 2, 4], "moe_router_group_topk": [None, 1, 2],
    "moe_aux_loss_coeff": [0.0, 0.01, [0.1, 0.1]], "mtp_num_layers": [None, 0, 1],
    "cpu_offloading_num_layers": [0, 2, 8, -1], "wgrad_deferral_limit": [0, -1, 2],
    "data_parallel_sharding_strategy": ["no_shard", "optim", "optim_grads", "optim_grads_params"],
    "outer_dp_sharding_strategy": ["no_shard", "optim"], "megatron_fsdp_version": [1, 2, 2, 3],
    "num_distributed_optimizer_instances": [1, 2, 3], "bucket_size": [None, 1000000],
    "num_buckets": [None, 4], "suggested_communication_unit_size": [None, 1000000],
    "optimizer": ["adam", "sgd", "muon", "dist_muon"], "loss_scale": [None, 1024.0],
    "clip_grad": [0.0, 1.0], "ckpt_format": ["torch_dist", "fsdp_dtensor", "torch_dcp", "zarr"],
    "save": [None, "/ckpt/save"], "load": [None, "/ckpt/load"],
    "pretrained_checkpoint": [None, "/ckpt/pretrained", "/ckpt/missing"],
    "async_strategy": ["nvrx", "mcore"], "non_persistent_ckpt_type": [None, "local", "global"],
    "train_iters": [1000, 100, None, 0], "train_samples": [None, 6400, 0],
    "global_batch_size": [32, 64, 16, 3, None, 128], "micro_batch_size": [1, 1, 2, 4, 3, None],
    "rampup_batch_size": [None, [2, 2, 100]], "eval_global_batch_size": [None, 32, 3],
    "eval_micro_batch_size": [None, 1, 2], "lr_decay_iters": [None, 100, 0],
    "lr_decay_samples": [None, 6400], "lr_warmup_fraction": [None, 0.1, 1.0],
    "lr_warmup_iters": [0, 10, 5000], "lr_warmup_samples": [0, 100], "seq_length": [4096, 2048, 4094],
    "dataloader_type": ["single", "cyclic", "batch", None], "split": [None, "9999,8,2", "1,1,1"],
    "blend": [None, [["a", "b"], [0.5, 0.5]]], "hf_processor_path": [None, "org/model", ""],
    "attention_dropout": [0.0, 0.1], "hidden_dropout": [0.0, 0.1], "num_epochs": [None, 1],
    "flash_attention_version": [None, 2, 3], "experimental_attention_variant": [None, "gated_delta_net", "dsa"],
    "tensor_parallel_num_weight_shards": [None, 1, 2, 4], "no_rope_freq": [None, 4, [0, 1] * 4],
    "gtp_remat_opt_in_modules": [[], ["moe_latent_proj"], ["nonsense"]],
    "comm_overlap": [None, {"_type": "CommOverlapConfig", "tp_comm_overlap": True},
                     {"_type": "CommOverlapConfig", "tp_comm_overlap": False}],
    "peft": [None, {"_type": "LoRA"}],
}
OVERLAP = ("tp_comm_overlap overlap_p2p_comm batch_p2p_comm overlap_grad_reduce overlap_param_gather "
           "overlap_param_gather_with_optimizer_step defer_embedding_wgrad_compute "
           "overlap_moe_expert_parallel_comm delay_wgrad_compute").split()
ENVIRONMENT = {"CUDA_DEVICE_MAX_CONNECTIONS": ["1", "1", "8", "32"], "NCCL_ALGO": ["Ring", "Tree", "^NVLS"],
               "NVTE_CPU_OFFLOAD_V1": ["0", "1"],
               "PYTORCH_CUDA_ALLOC_CONF": ["expandable_segments:True", "expandable_segments:False"]}
GPUS = [([9, 0], "NVIDIA H100 80GB HBM3")] * 4 + [
    ([8, 0], "NVIDIA A100-SXM4-80GB"), ([10, 0], "NVIDIA B200"), ([10, 0], "NVIDIA GB200"),
    ([10, 3], "NVIDIA GB300"), ([7, 0], "Tesla V100-SXM2-32GB")]
REBUILT = ["checkpoint", "ddp", "optimizer"]
FAVOURED = {"mfsdp": 4, "mfsdp_own_class": 3, "mfsdp_2": 3, "hsdp": 2, "fsdp2": 3, "ddp": 2, "distopt": 2}


class Recorder:
    framework = "megatron-bridge"
    stages = ["config-build", "runtime-config", "validate"]
    note = NOTE

    def __init__(self, checkouts):
        self.bridge = Source(checkouts["megatron-bridge"])
        core = Source(checkouts["megatron-lm"])
        self.core = Source(checkouts["megatron-lm"], f"{CORE}{core.commit[:8]}:")
        sys.path[:0] = [self.bridge.root + "src", self.core.root]
        self.now = {"existing_paths": [], "nvrx": True, "compute_capability": [9, 0], "device_name": "x"}
        self.torch = stand_ins.install(["megatron"], ["megatron.energon", "megatron.rl"])
        self._devices()
        importlib.metadata.version = lambda name: "99.0.0"
        logging.disable(logging.CRITICAL)
        with quiet():
            self._import()
        self._types()
        self.builders = importlib.import_module("bridge_bases").make_bases()
        self.bases = {}
        self.flat = {name: self.flatten(self.base(name)) for name in self.builders}
        self.declared = {name: self._declared(self.base(name)) for name in self.builders}
        texts = [pathlib.Path(self.bridge.root, p).read_text() for p in CHECKS]
        texts += [pathlib.Path(self.core.root, p).read_text() for p in CORE_CHECKS]
        self.aims = [aim for text in texts for aim in aims(text)]

    def header(self):
        return {"version": 1, "commit": self.bridge.commit[:8], "megatron_core": self.core.commit,
                "bases": self.flat}

    def _devices(self):
        import transformer_engine.pytorch.optimizers as optimizers
        cuda, distributed = self.torch.cuda, self.torch.distributed
        cuda.is_available = lambda: True
        cuda.device_count = lambda: 8
        cuda.current_device = lambda: 0
        cuda.get_device_capability = lambda *a: tuple(self.now["compute_capability"])
        cuda.get_device_name = lambda *a: self.now["device_name"]
        cuda.get_device_properties = lambda *a: types.SimpleNamespace(
            major=self.now["compute_capability"][0], minor=self.now["compute_capability"][1],
            name=self.now["device_name"])
        distributed.is_initialized = lambda: False
        distributed.is_available = lambda: True

        def fused_adam(params, lr=0, master_weight_dtype=None, exp_avg_dtype=None, exp_avg_sq_dtype=None,
                       use_decoupled_grad=False):
            pass
        optimizers.FusedAdam = fused_adam

    def _import(self):
        get = importlib.import_module
        self.config = get("megatron.bridge.training.config")
        self.precision = get("megatron.bridge.training.mixed_precision")
        self.overlap = get("megatron.bridge.training.comm_overlap")
        self.utils = get("megatron.core.utils")
        self.transformer = get("megatron.core.transformer.transformer_config")
        self.moe = get("megatron.core.transformer.moe.moe_utils")
        files = get("megatron.bridge.training.utils.checkpoint_utils")
        files.file_exists = lambda path: str(path) in self.now["existing_paths"]
        get("megatron.training.utils").has_nvrx_checkpointing_async_support = lambda: self.now["nvrx"]
        for module in (self.config, get("megatron.bridge.utils.common_utils")):
            module.print_rank_0 = lambda *a, **k: None
        self.fused = {n: getattr(self.moe, n) for n in dir(self.moe) if n.startswith("fused_")}

    def _types(self):
        get = importlib.import_module
        modules = [self.config, get("megatron.bridge.data.builders"), get("megatron.bridge.data.packing"),
                   self.precision, self.overlap]
        self.types = {name: value for module in modules for name, value in vars(module).items()
                      if isinstance(value, type) and dataclasses.is_dataclass(value)}
        self.types["LoRA"] = get("megatron.bridge.peft.lora").LoRA
        self.empty = {"comm_overlap": lambda: self.overlap.CommOverlapConfig(tp_comm_overlap=False),
                      "mixed_precision": self.precision.bf16_mixed}

    def _versions(self, engine, torch):
        from packaging.version import Version
        for name, kernel in self.fused.items():
            setattr(self.moe, name, kernel if Version(engine) >= Version("2.1") else None)
        self.utils._te_version, self.utils._torch_version = Version(engine), Version(torch)
        sys.modules["transformer_engine"].__version__ = engine

    def base(self, name):
        if name not in self.bases:
            with quiet():
                self.bases[name] = self.builders[name]()
        again = copy.deepcopy(self.bases[name])
        if type(again.model) is not type(self.bases[name].model):
            return self.builders[name]()  # a builder's model configuration does not survive the copy
        return again

    def _declared(self, node, prefix="", out=None):
        """path -> the type that the class declares, as text"""
        out = {} if out is None else out
        for field in dataclasses.fields(node):
            value, path = getattr(node, field.name, None), prefix + field.name
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                merged = prefix == "model." and field.name == "transformer"
                self._declared(value, prefix if merged else path + ".", out)
            else:
                kind = field.type
                out[path] = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind)) \
                    if isinstance(kind, type) else str(kind)
        for name in OVERLAP if not prefix else ():
            out.setdefault("comm_overlap." + name, "bool | None")
        return out

    # ---- values as records write them, and back
    def flatten(self, node, prefix="", out=None):
        out = {} if out is None else out
        names = {n for n in vars(node) if n[0] != "_"}
        names |= {f.name for f in dataclasses.fields(node) if f.name[0] != "_" and hasattr(node, f.name)}
        for name in sorted(names):
            value, path = getattr(node, name), prefix + name
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                merged = prefix == "model." and name == "transformer"
                out[path + "._type"] = self._type_name(value)
                self.flatten(value, prefix if merged else path + ".", out)
            else:
                out[path] = self.plain(value)
        return out

    @staticmethod
    def _type_name(value):
        kind = type(value)
        return ("core." if kind.__module__.startswith("megatron.core") else "") + kind.__name__

    def plain(self, value):
        if isinstance(value, enum.Enum):
            return value.name
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if value == value and abs(value) != float("inf") else str(value)
        if isinstance(value, stand_ins.Dtype):
            return repr(value)
        if isinstance(value, (list, tuple)):
            return [self.plain(v) for v in value]
        if isinstance(value, (set, frozenset)):
            return sorted(str(self.plain(v)) for v in value)
        if isinstance(value, dict):
            return {str(k): self.plain(v) for k, v in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {"_type": type(value).__name__,
                    **{k: self.plain(v) for k, v in vars(value).items() if k[0] != "_"}}
        if type(value).__name__ == "PipelineParallelLayerLayout":
            return self.plain(value.input_data)
        name = getattr(value, "__name__", None) or getattr(getattr(value, "func", None), "__name__", None)
        return f"<{name or type(value).__name__}>"

    def value_of(self, plain, path):
        if isinstance(plain, dict) and "_type" in plain:
            fields = {k: self.value_of(v, k) for k, v in plain.items() if k != "_type"}
            return self.types[plain["_type"]](**fields)
        if isinstance(plain, str) and plain.startswith("torch."):
            return stand_ins.Dtype.known[plain[6:]]
        members = self.transformer.CudaGraphModule.__members__
        if isinstance(plain, list) and path.endswith("cuda_graph_modules"):
            return [members.get(v, v) for v in plain]
        return copy.deepcopy(plain)

    def put(self, config, path, plain):
        node, parts = config, path.split(".")
        for i, part in enumerate(parts[:-1]):
            child, here = getattr(node, part), ".".join(parts[:i + 1])
            if here == "mixed_precision" and isinstance(child, str):
                child = self.precision.get_mixed_precision_config(child)
                setattr(node, part, child)
            if child is None and here in self.empty:
                child = self.empty[here]()
                setattr(node, part, child)
            node = child
        if isinstance(node, dict):
            node[parts[-1]] = plain
        else:
            setattr(node, parts[-1], self.value_of(plain, path))

    # ---- cases
    def make(self, rng):
        names = list(self.flat)
        base = rng.choices(names, [FAVOURED.get(name, 1) for name in names])[0]
        flat = self.flat[base]
        paths = {}
        for path in flat:
            if not path.endswith("_type") and not str(flat[path]).startswith("<"):  # no callables
                paths.setdefault(path.rpartition(".")[2], []).append(path)
        for name in OVERLAP:
            paths.setdefault(name, []).append("comm_overlap." + name)
        literals, count = {}, rng.choice([0, 1, 1, 2, 2, 3, 4, 6])
        wanted = [rng.choice(list(VALUES) if rng.random() < 0.6 else sorted(paths)) for _ in range(count)]
        if count and rng.random() < 0.75:
            aim = rng.choice(self.aims)
            literals = aim.literals
            wanted = [n for n in aim.names if rng.random() < 0.8][:6] + wanted[:2]
        mutations = {}
        for name in wanted[:6]:
            if name in paths:
                path = rng.choice(paths[name])
                mutations[path] = self._value(name, flat.get(path), self.declared[base].get(path, ""),
                                              literals.get(name, ()), rng)
        capability, device = rng.choice(GPUS)
        env = {name: rng.choice(values) for name, values in ENVIRONMENT.items()
               if rng.random() < (0.3 if name == "CUDA_DEVICE_MAX_CONNECTIONS" else 0.08)}
        return {"base": base, "mutations": mutations,
                "rebuild": [rng.choice(REBUILT)] if rng.random() < 0.08 else [], "env": env,
                "world_size": rng.choice([8, 8, 8, 8, 4, 16, 2, 1, 64]), "compute_capability": capability,
                "device_name": device, "nvrx": rng.random() < 0.8, "existing_paths": ["/ckpt/pretrained"],
                "transformer_engine": rng.choice(["2.14.0"] * 4 + ["2.9.0", "2.6.0", "2.2.0", "1.10.0"]),
                "torch": rng.choice(["2.10.0"] * 4 + ["2.11.0", "2.5.1"])}

    @staticmethod
    def _value(name, current, declared, literals, rng):
        """One that the declared type admits; as often as not one that a check compares with."""
        choices = re.findall(r"'([^']*)'", declared) if "Literal" in declared else []
        texts = [v for v in literals if isinstance(v, str) and v.isidentifier()
                 and (not choices or v in choices)]
        if texts and "str" in declared + str(choices and "str") and rng.random() < 0.6:
            return rng.choice(texts)
        if name in VALUES:
            return rng.choice(VALUES[name])
        absent = [None] if "None" in declared or "Optional" in declared else []
        if choices:
            return rng.choice(choices + absent)
        if "dtype" in declared or isinstance(current, str) and current.startswith("torch."):
            return rng.choice(DTYPES + absent)
        if "bool" in declared:
            return rng.choice(TRUTH + absent)
        if "list" in declared.lower() or "dict" in declared.lower() or "Callable" in declared:
            return current
        if "int" in declared:
            near = [v for v in literals if isinstance(v, int) and not isinstance(v, bool)]
            return rng.choice(near + [0, 1, 2, 4, -1] + absent)
        if "float" in declared:
            return rng.choice([0.0, 0.5, 1.0, 2.0] + absent)
        return current

    # ---- the run
    def run(self, case):
        self.now = case
        self._versions(case["transformer_engine"], case["torch"])
        with environment({**case["env"], "RANK": "0", "WORLD_SIZE": str(case["world_size"])}), quiet():
            return self._run(case)

    def _run(self, case):
        config = self.base(case["base"])
        try:
            for path, plain in case["mutations"].items():
                self.put(config, path, plain)
        except (AttributeError, ValueError, TypeError, KeyError, AssertionError):
            return None  # such a configuration cannot be built
        before, stage = self.flatten(config), "config-build"
        try:
            for name in case["rebuild"]:
                node = getattr(config, name)
                fields = {f.name: getattr(node, f.name) for f in dataclasses.fields(node)
                          if f.init and f.name[0] != "_"}
                setattr(config, name, type(node)(**fields))
            before, stage = self.flatten(config), "runtime-config"
            self.config.runtime_config_update(config)
            after = self.flatten(config)
            result = {"verdict": "accept", "stage": "validate", "overrides": {
                k: [before.get(k, "<unset>"), after.get(k, "<unset>")]
                for k in sorted(set(before) | set(after))
                if before.get(k, "<unset>") != after.get(k, "<unset>")
                and not k.startswith("mixed_precision") and k != "dataset.split_matrix"}}
        except Exception as error:
            frames = [(f, s) for f in traceback.extract_tb(error.__traceback__)
                      for s in (self.bridge, self.core) if s.owns(f.filename)]
            if not frames:
                return None
            if any(f.name == "validate" for f, _ in frames):
                stage = "validate"
            places = [s.anchor(f) for f, s in frames]
            result = {"verdict": "reject", "stage": stage, "type": type(error).__name__,
                      "anchor": places[-1], "chain": places[-4:]}
        base = self.flat[case["base"]]
        result["config"] = {k: before.get(k, "<absent>") for k in sorted(set(base) | set(before))
                            if base.get(k, "<absent>") != before.get(k, "<absent>")}
        return {**case, **result}

    @staticmethod
    def rewrites(result):
        return result.get("overrides", {})
