"""Megatron-LM: its own parse_args and validate_args, called on argument lists."""
import argparse
import ast
import contextlib
import copy
import io
import json
import pathlib
import sys
import traceback
import warnings

import stand_ins
from aims import aims
from confined import environment, quiet
from source import Source

ARGUMENTS = "megatron/training/arguments.py"
NOTE = ("parse_args and validate_args of the checkout called; torch, Transformer Engine and all other "
        "packages are stand-ins; torch 2.11.0, Transformer Engine as in `te_version`, GPU major version "
        "as in `arch`; `cuda_available` false: torch.cuda.get_device_capability raises; "
        "nvidia_resiliency_ext, torch_memory_saver and multistorageclient absent; environment as in "
        "`env`, nothing else set; anchor: first line of the statement that raised")

# The smallest model that trains, and the ways of sharding around which cases lie.
BASE = {"--num-layers": "8", "--hidden-size": "512", "--num-attention-heads": "8",
        "--seq-length": "1024", "--max-position-embeddings": "1024", "--micro-batch-size": "1",
        "--global-batch-size": "64", "--train-iters": "10", "--lr": "1e-4", "--mock-data": None,
        "--tokenizer-type": "NullTokenizer", "--vocab-size": "1024"}
PROFILES = {
    "ddp": "--bf16",
    "ddp-overlap": "--bf16 --overlap-grad-reduce",
    "distopt": "--bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
    "fsdp2": "--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion --ckpt-format torch_dist "
             "--untie-embeddings-and-output-weights",
    "mfsdp": "--bf16 --use-megatron-fsdp --use-distributed-optimizer --data-parallel-sharding-strategy "
             "optim_grads_params --ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion "
             "--overlap-grad-reduce --overlap-param-gather",
    "mfsdp-short": "--bf16 --use-megatron-fsdp --ckpt-format fsdp_dtensor",
    "mfsdp-2": "--bf16 --use-megatron-fsdp --megatron-fsdp-version 2 --data-parallel-sharding-strategy "
               "optim_grads_params --ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion",
    "hsdp": "--bf16 --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
            "--ckpt-format fsdp_dtensor --num-distributed-optimizer-instances 2",
    "moe": "--bf16 --num-experts 8 --expert-model-parallel-size 2 --use-distributed-optimizer",
}
WEIGHTS = {"mfsdp": 4, "fsdp2": 3, "mfsdp-2": 2, "mfsdp-short": 2, "distopt": 2}
# They read files, or are taken out of the recorded list by a reader.
LEFT_OUT = {"yaml_cfg", "use_checkpoint_args", "heterogeneous_layers_config_path",
            "heterogeneous_layers_config_encoded_json", "result_rejected_tracker_filename", "help"}
# Values of options that are plain text to the parser, from the formats that upstream documents.
TEXTS = {
    "hybrid_layer_pattern": ["M*M*M*M*", "M*|M*", "M*M*/MM/MM", "M*+-", "M||M", "M*M*/M", "MMMMMMMM"],
    "pipeline_model_parallel_layout": ["Et|tttttt|tL", "E|tttt|ttttL", "Ettt|(tt|)*2tL", "Ex|L"],
    "optimizer": ["adam", "sgd", "muon", "dist_muon", "lion"],
    "cp_comm_type": ["p2p", "a2a", "allgather", "a2a+p2p"],
    "no_weight_decay_cond_type": ["apply_wd_to_qk_layernorm"],
    "recompute_modules": ["core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe"],
    "offload_modules": ["core_attn", "attn_norm", "moe_act", "expert_fc1"],
    "spec": ["local"], "save": ["out"], "load": ["in"], "split": ["98,1,1"],
}
ENVIRONMENT = {
    "CUDA_DEVICE_MAX_CONNECTIONS": ["1", "1", "8", "32"], "NCCL_ALGO": ["Ring", "Tree", "^NVLS", ""],
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": ["0", "1"], "CUBLAS_WORKSPACE_CONFIG": [":4096:8", ":16:8", "x"],
    "MAMBA_DETERMINISTIC": ["1", "0"], "CAUSAL_CONV1D_DETERMINISTIC": ["1", "0"],
    "NVTE_CPU_OFFLOAD_V1": ["1", "0"], "NCCL_GRAPH_REGISTER": ["0", "1"],
    "PYTORCH_CUDA_ALLOC_CONF": ["expandable_segments:True", "backend:native"],
    "CUDA_GRAPHS_USE_NODE_PRIORITY": ["1"], "NCCL_PROTO": ["Simple", "LL"],
}


class Recorder:
    framework = "megatron-lm"
    stages = ["parse", "validate"]
    note = NOTE

    def __init__(self, checkouts):
        self.source = Source(checkouts["megatron-lm"])
        sys.path.insert(0, self.source.root)
        stand_ins.ABSENT.update(("nvidia_resiliency_ext", "torch_memory_saver", "multistorageclient"))
        self.torch = stand_ins.install(["megatron"], ["megatron.rl"])
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from megatron.training import arguments
            import megatron.core.utils as utils
        from packaging.version import Version
        self.arguments, self.version = arguments, Version
        self.now = None  # the case that runs
        for module in (arguments, utils):
            module.is_te_min_version = lambda v, *a, **k: Version(self.now["te_version"]) >= Version(v)
            module.is_torch_min_version = lambda v, *a, **k: Version("2.11.0") >= Version(v)
            module.is_flashinfer_min_version = lambda v, *a, **k: self.now["flashinfer_version"] != "0"
            module.get_torch_version = lambda: Version("2.11.0")
        arguments.get_device_arch_version = lambda: self.now["arch"]
        self.torch.cuda.get_device_capability = self._capability
        self.parser = arguments.add_megatron_arguments(
            argparse.ArgumentParser(description="Megatron-LM Arguments", allow_abbrev=False))
        arguments.add_megatron_arguments = self._one_parser
        text = pathlib.Path(self.source.root, ARGUMENTS).read_text()
        self.aims = aims(text, {"validate_args", "validate_model_config_args_from_heterogeneous_config"})
        self.actions = {}
        for action in self.parser._actions:
            if action.dest not in LEFT_OUT:
                self.actions.setdefault(action.dest, []).append(action)
        self.often = sorted({n for a in self.aims for n in a.names if n in self.actions})

    def header(self):
        return {"version": self._package_version(), "commit": self.source.commit}

    def _package_version(self):
        text = pathlib.Path(self.source.root, "megatron/core/package_info.py").read_text()
        parts = {t.id: node.value for node in ast.parse(text).body if isinstance(node, ast.Assign)
                 for t in node.targets if isinstance(t, ast.Name)}
        return ".".join(str(parts[name].value) for name in ("MAJOR", "MINOR", "PATCH"))

    def _capability(self, *device):
        if not self.now["cuda_available"]:
            raise RuntimeError("no device")
        return (self.now["arch"], 0)

    def _one_parser(self, parser):
        """Built once. What it answers is copied: validate_args appends to lists in place."""
        answer = argparse.ArgumentParser.parse_args
        self.parser.parse_args = lambda: copy.deepcopy(answer(self.parser))
        return self.parser

    # ---- cases
    def make(self, rng):
        names = list(PROFILES)
        profile = rng.choices(names, [WEIGHTS.get(name, 1) for name in names])[0]
        base = dict(BASE)
        if rng.random() < 0.12:
            base.pop(rng.choice(list(base)))
        argv = [w for pair in base.items() for w in pair if w is not None] + PROFILES[profile].split()
        literals = {}
        count = rng.choice([0, 1, 1, 2, 2, 3, 4, 6])
        wanted = [rng.choice(self.often if rng.random() < 0.8 else sorted(self.actions))
                  for _ in range(count)]
        if count and rng.random() < 0.75:
            aim = rng.choice(self.aims)
            literals = aim.literals
            wanted = [n for n in aim.names if n in self.actions and rng.random() < 0.8][:6] + wanted[:2]
        for dest in wanted[:6]:
            argv += self._option(dest, literals.get(dest, ()), rng)
        env = {name: rng.choice(values) for name, values in ENVIRONMENT.items()
               if rng.random() < (0.45 if name.startswith("CUDA_DEVICE") else 0.06)}
        arch = rng.choice([9, 9, 9, 10, 10, 8, 7])
        return {"profile": profile, "argv": argv, "env": env, "arch": arch,
                "world_size": rng.choice([1, 2, 4, 8, 8, 8, 16, 32, 64]),
                "te_version": rng.choice(["99.0", "99.0", "2.11.0", "2.8.1", "2.6.0"]),
                "cuda_available": rng.random() < 0.7,
                "flashinfer_version": rng.choice(["0", "9"])}

    def _option(self, dest, literals, rng):
        action = rng.choice(self.actions[dest])
        words = [rng.choice(action.option_strings)]
        if action.nargs == 0:
            return words
        many = action.nargs in ("+", "*") or isinstance(action.nargs, int)
        values = [self._value(action, dest, literals, rng)
                  for _ in range(rng.choice([1, 1, 2]) if many else 1)]
        return words + values

    def _value(self, action, dest, literals, rng):
        kind = getattr(action.type, "__name__", "str")
        if action.choices:
            fitting = [v for v in literals if v in action.choices]
            return str(rng.choice(fitting if fitting and rng.random() < 0.6 else list(action.choices)))
        if kind == "int":
            near = [v + d for v in literals if isinstance(v, int) for d in (0, 0, 1)]
            return str(rng.choice(near if near and rng.random() < 0.5 else
                                  [0, 1, 1, 2, 2, 3, 4, 4, 8, 16, 64, -1]))
        if kind == "float":
            return rng.choice(["0.0", "0.5", "1.0", "2.0", "-0.5", "1e-5"])
        texts = [v for v in literals if isinstance(v, str)] + TEXTS.get(dest, [])
        if kind in ("moe_freq_type", "la_freq_type", "no_rope_freq_type"):
            texts = ["1", "2", "[1,0]*4", "[1]*8", "[x]"]
        elif kind == "tuple_type":
            texts = ["1,2"]
        elif "graph" in kind or "graph" in dest:
            texts = ["attn", "mlp", "moe", "moe_router", "full_iteration", "full", "mamba"]
        elif kind not in ("str",) and not texts:
            texts = ["fp32", "bf16", "fp16", "auto", "none", "local"]
        return str(rng.choice(texts or ["x", "1"]))

    # ---- the run
    def run(self, case):
        self.now = case
        with environment({**case["env"], "RANK": "0", "LOCAL_RANK": "0",
                          "WORLD_SIZE": str(case["world_size"])}):
            return self._run(case)

    def _run(self, case):
        warned, out, argv = [], io.StringIO(), sys.argv
        self.arguments.warn_rank_0 = lambda *a, **k: warned.append(self.source.caller())
        sys.argv = ["pretrain_gpt.py", *case["argv"]]
        result = {"stage": "parse"}
        try:
            with quiet(out):
                args = self.arguments.parse_args()
                before = self._values(args)
                result["stage"] = "validate"
                self.arguments.validate_args(args)
                after = self._values(args)
            result["verdict"] = "accept"
            result["overrides"] = {k: [before.get(k, "<unset>"), after[k]] for k in after
                                   if before.get(k, "<unset>") != after[k]}
        except SystemExit:
            result.update(verdict="reject", type="SystemExit", text=out.getvalue()[-160:])
            if result["stage"] == "validate":
                return None
        except Exception as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if self.source.owns(f.filename)]
            if not frames:
                return None
            result.update(verdict="reject", type=type(error).__name__, text=str(error)[:160],
                          anchor=self.source.anchor(frames[-1]),
                          via=[self.source.anchor(f) for f in frames[-3:]])
        finally:
            sys.argv = argv
        result["warnings"] = sorted(set(filter(None, warned)))
        return {**case, **result}

    def _values(self, args):
        return {name: self._plain(value) for name, value in vars(args).items() if name[0] != "_"}

    @staticmethod
    def _plain(value):
        try:
            return json.loads(json.dumps(value))
        except TypeError:
            return str(value)

    @staticmethod
    def rewrites(result):
        return result.get("overrides", {})
