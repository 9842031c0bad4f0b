"""verl: its composition (with Hydra itself), its validation, and its programs up to one step and one
save, on command lines."""
import contextlib
import copy
import dataclasses
import functools
import logging
import os
import pathlib
import sys
import traceback

import verl_surroundings
from aims import aims
from confined import environment, quiet
from source import Source

NOTE = ("Composed by Hydra 1.3.2 with omegaconf 2.3. Executed: the driver (main_ppo), the trainer with one "
        "training step on a batch without tensors, worker, engine and checkpoint-manager construction, one "
        "save, the fine-tuning trainer; Megatron-LM's parallel_state and two configuration classes, "
        "Megatron-Bridge's create_ddp_config and checks before saving. Stand-ins: torch, ray, transformers, "
        "vllm, sglang, Transformer Engine, tokenizers, data, weights. veomni, torchtitan, automodel and "
        "fsdp_turbo: composed, validated and instantiated only. Sequences are as long as the limits allow. "
        "RL world = trainer.nnodes * trainer.n_gpus_per_node, SFT `world_size`. rewrites: {path: "
        "[configured, value that the program ended with]}; ray_env.X: handed to Ray's workers")
CHECKS = ["utils/config.py", "workers/config", "trainer/config", "trainer/main_ppo.py",
          "trainer/ppo/v1/trainer_base.py", "workers/engine/megatron/transformer_impl.py",
          "workers/engine/fsdp/transformer_impl.py", "workers/engine_workers.py", "workers/engine/utils.py",
          "utils/megatron_utils.py", "utils/megatron/optimizer.py", "trainer/sft_trainer.py",
          "utils/checkpoint/megatron_checkpoint_manager.py", "utils/checkpoint/checkpoint_handler.py",
          "utils/profiler/config.py", "workers/rollout/replica.py", "utils/seqlen_balancing.py"]
WATCHED = ("CUDA_DEVICE_MAX_CONNECTIONS", "VERL_FULL_DETERMINISM", "VLLM_BATCH_INVARIANT", "PYTHONHASHSEED",
           "VLLM_ALLREDUCE_USE_SYMM_MEM", "NCCL_ALGO", "TRANSFER_QUEUE_ENABLE")
UNSEEN = ("hf_config_path tokenizer_path local_path architectures hf_config generation_config tokenizer "
          "processor").split()  # of a model, where the surroundings answer


class Recorder:
    framework = "verl"
    stages = ["compose", "instantiate", "validate", "driver", "engine-init", "load", "train", "save"]
    note = NOTE

    def __init__(self, checkouts):
        self.verl = Source(checkouts["verl"])
        core, bridge = Source(checkouts["megatron-lm"]), Source(checkouts["megatron-bridge"])
        self.sources = [self.verl, Source(checkouts["megatron-lm"], f"Megatron-LM@{core.commit[:8]}:"),
                        Source(checkouts["megatron-bridge"], f"Megatron-Bridge@{bridge.commit[:7]}:")]
        os.environ["VERL_USE_EXTERNAL_PLUGINS"] = "none"
        sys.path.insert(0, self.verl.root)
        logging.disable(logging.CRITICAL)
        with quiet():
            torch = verl_surroundings.install()
            from verl_program import Program
            self.program = Program(torch, core.root, bridge.root)
        import hydra
        import omegaconf.grammar_parser
        from hydra.core.global_hydra import GlobalHydra
        GlobalHydra.instance().clear()
        parse = functools.lru_cache(maxsize=None)(omegaconf.grammar_parser.parse)
        for module in (omegaconf.grammar_parser, omegaconf.base, omegaconf.basecontainer):
            if hasattr(module, "parse"):  # the same interpolations are parsed again and again
                module.parse = parse
        hydra.initialize_config_dir(self.verl.root + "verl/trainer/config", version_base=None)
        from hydra.core.override_parser.overrides_parser import OverridesParser
        tree = pathlib.Path(self.verl.root, "verl/trainer/config")
        self.groups = {path.name for path in tree.iterdir() if path.is_dir()}
        self.parser, self._trees, self._leaves = OverridesParser.create(), {}, {}
        from verl_cases import Cases
        self.cases = Cases(self._aims(), self.leaves)
        self.make = self.cases.make

    def header(self):
        version = pathlib.Path(self.verl.root, "verl/version/version").read_text().strip()
        return {"version": version, "commit": self.verl.commit[:7]}

    def _aims(self):
        out = []
        for name in CHECKS:
            path = pathlib.Path(self.verl.root, "verl", name)
            for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                out += [a for a in aims(file.read_text()) if a.names]
        return out

    # ---- composition
    def compose(self, base, overrides):
        """(configuration as the program gets it, choices of groups). The tree of each choice of groups
        is composed once; Hydra's own code applies the other words to a copy."""
        from hydra._internal.config_loader_impl import ConfigLoaderImpl
        words = list(overrides)
        groups = tuple(w for w in words if w.partition("=")[0].partition("@")[0] in self.groups)
        rest = [w for w in words if w not in groups]
        if any(w.lstrip("+~").partition("=")[0].partition("@")[0] in self.groups for w in rest):
            return self._whole(base, words)
        if (base, groups) not in self._trees:
            self._trees[base, groups] = self._whole(base, groups)
        tree, choices = self._trees[base, groups]
        config = copy.deepcopy(tree)
        ConfigLoaderImpl._apply_overrides_to_config(self.parser.parse_overrides(rest), config)
        return config, choices

    def _whole(self, base, words):
        import hydra
        from omegaconf import open_dict
        config = hydra.compose(base, list(words), return_hydra_config=True)
        choices = dict(config.hydra.runtime.choices)
        with open_dict(config):
            del config["hydra"]
        return config, choices

    def leaves(self, base, groups):
        if (base, groups) not in self._leaves:
            from omegaconf import OmegaConf
            config, _ = self.compose(base, groups)
            found = flatten(OmegaConf.to_container(config, resolve=False))
            self._leaves[base, groups] = {k: v for k, v in found.items() if "_target_" not in k}
        return self._leaves[base, groups]

    # ---- the run
    def run(self, case):
        with environment(case["env"], keep=("PATH", "HOME", "TMPDIR")), quiet():
            return self._run(case)

    def _run(self, case):
        from hydra.errors import HydraException
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
        program = self.program
        try:
            config, choices = self.compose(case["base"], case["overrides"])
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            return {**case, "verdict": "reject", "stage": "compose", "type": type(error).__name__,
                    "anchor": "compose"}
        program.reset(case["device_capability"])
        before = None
        with contextlib.suppress(OmegaConfBaseException):
            before = OmegaConf.to_container(config, resolve=True)
        environment = dict(os.environ)
        finetuning = case["base"].startswith("sft")
        engine = choices.get("engine" if finetuning else "model_engine")
        try:
            if finetuning:
                program.finetune(config, case["world_size"], engine)
            else:
                program.reinforce(config, engine)
        except Exception as error:
            return self._rejected(case, error)
        out = {}
        if before is not None:
            out = self._changes(before, finetuning, engine)
            self._environment(before, environment, finetuning, out)
            configured, ended = flatten(before), flatten(plain(config))
            for key in ended:
                if key in configured and configured[key] != ended[key]:
                    out.setdefault(key, [configured[key], ended[key]])
        return {**case, "verdict": "accept", "stage": program.stage, "rewrites": out}

    def _rejected(self, case, error):
        from hydra.errors import InstantiationException
        frames, stage = [], self.program.stage
        while True:
            frames += [(f, s) for f in traceback.extract_tb(error.__traceback__)
                       for s in self.sources if s.owns(f.filename)]
            if not isinstance(error, InstantiationException) or error.__cause__ is None:
                break
            error, stage = error.__cause__, "instantiate"
        if not frames:
            return None
        places = [s.anchor(f) for f, s in frames]
        if stage == "engine-init" and any("checkpoint_handler.py" in p for p in places):
            stage = "load"
        return {**case, "verdict": "reject", "stage": stage, "type": type(error).__name__,
                "anchor": places[-1], "via": places[-4:], "text": str(error)[:160]}

    # ---- what the program changed
    def _changes(self, before, finetuning, engine):
        out, seen = {}, []
        for kind, config in self.program.seen:
            if kind == "rollout":
                if "rollout" not in seen:
                    compare(get(before, "actor_rollout_ref.rollout"), config, "actor_rollout_ref.rollout", out)
                seen.append("rollout")
                continue
            for attribute, path in self._places(config, finetuning, engine, seen).items():
                old, new = path and get(before, path), getattr(config, attribute, None)
                if old is not None and new is not None:
                    if attribute == "model_config":
                        old = {k: v for k, v in old.items() if k not in UNSEEN}
                    compare(old, new, path, out)
        return out

    def _places(self, config, finetuning, engine, seen):
        """Which part of the tree each part of a worker's configuration came from."""
        if finetuning:
            return {"engine_config": "engine", "optimizer_config": "optim",
                    "checkpoint_config": "checkpoint", "model_config": "model"}
        node = "fsdp" if engine in ("dp", None) else engine
        if config.model_type == "value_model":
            role, model, own = "critic", "critic.model", f"critic.{node}"
        else:
            node = "fsdp_config" if node == "fsdp" else node
            workers = [c for k, c in self.program.seen if k == "worker" and c.model_type != "value_model"]
            reference = config.engine_config.forward_only and "ref" not in seen and len(workers) == 2
            if reference:
                seen.append("ref")
                return {"engine_config": f"actor_rollout_ref.ref.{node}"}
            role, model = "actor_rollout_ref.actor", "actor_rollout_ref.model"
            own = f"{role}.{node}"
        return {"engine_config": own, "optimizer_config": f"{role}.optim",
                "checkpoint_config": f"{role}.checkpoint", "model_config": model}

    def _environment(self, before, old, finetuning, out):
        user = get(before, "ray_kwargs.ray_init.runtime_env.env_vars") or {}
        for name in WATCHED:
            if old.get(name) != os.environ.get(name):
                out["env." + name] = [old.get(name), os.environ.get(name)]
            given = self.program.ray_env.get(name)
            if not finetuning and given is not None and name not in user and given != old.get(name) \
                    and (given != "0" or old.get(name)):
                out["ray_env." + name] = [old.get(name), given]

    @staticmethod
    def rewrites(result):
        return result.get("rewrites", {})


def flatten(node, prefix="", out=None):
    out = {} if out is None else out
    if isinstance(node, dict) and node:
        for key, value in node.items():
            flatten(value, f"{prefix}.{key}" if prefix else str(key), out)
    else:
        out[prefix] = node
    return out


def get(node, path):
    for part in path.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node


def plain(value):
    from omegaconf import OmegaConf
    if OmegaConf.is_config(value):
        return plain(OmegaConf.to_container(value, resolve=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name, None)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else f"<{type(value).__name__}>"


def compare(old, new, path, out):
    """The configured values against those of the object that the program built from them."""
    for key, configured in old.items():
        if key == "_target_":
            continue
        value = new.get(key, compare) if isinstance(new, dict) else getattr(new, key, compare)
        nested = isinstance(value, dict) or dataclasses.is_dataclass(value)
        if isinstance(configured, dict) and nested:
            compare(configured, value, f"{path}.{key}", out)
            for name in value if isinstance(value, dict) else ():
                if name not in configured and name != "_target_":
                    out[f"{path}.{key}.{name}"] = ["<unset>", plain(value[name])]
            continue
        value = "<gone>" if value is compare else plain(value)
        if value == "<gone>" and configured is None:
            continue
        if value != configured or isinstance(value, bool) != isinstance(configured, bool):
            out[f"{path}.{key}"] = [configured, value]
