"""Command lines of verl: a valid launch of one of several ways to train, then 0 to 6 changes.

A change takes any key of the composed tree, or aims at one check of the source."""
import re

ACTOR, REF, ROLLOUT, MODEL = (f"actor_rollout_ref.{n}" for n in ("actor", "ref", "rollout", "model"))
PROFILES = {"fsdp": 3, "fsdp2": 4, "megatron": 4, "mfsdp": 5, "sft_fsdp": 2, "sft_fsdp2": 2,
            "sft_megatron": 2, "sft_mfsdp": 3, "sft_other": 1, "veomni": 1, "torchtitan": 1}
# Values by the last part of the key, where the present value and the checks' literals say too little.
VALUES = {
    "tensor_model_parallel_size": [1, 2, 3, 4, 8], "pipeline_model_parallel_size": [1, 2, 3],
    "context_parallel_size": [1, 2, 3], "expert_model_parallel_size": [1, 2, 3, 8],
    "expert_tensor_parallel_size": [1, 2, None], "virtual_pipeline_model_parallel_size": [2, 1, None],
    "ulysses_sequence_parallel_size": [1, 2, 3, 4], "fsdp_size": [-1, 0, 2, 3, 4, 64],
    "dtype": ["float16", "float32", "bfloat16"], "strategy": ["fsdp", "fsdp2", "megatron", "ddp", "fsdp_turbo"],
    "optimizer": ["adam", "sgd", "muon", "AdamW", "AdamX"], "lr_scheduler_type": ["linear", "cosine", "constant"],
    "save_contents": ["[model]", "[optimizer,extra]", "[extra]", "[model,optimizer,extra,hf_model]", "[]",
                      "[model,foo]", "[hf_model,extra]"],
    "load_contents": ["[model]", "[optimizer,extra]", "[]", "[extra]"], "lora_rank": [0, 8, 600], "rank": [0, 8, 600],
    "path": ["Qwen/Qwen2.5-7B", "deepseek-ai/DeepSeek-V3", "Qwen/Qwen2.5-VL-7B-Instruct"],
    "ppo_micro_batch_size": [None, 8, 64, 5], "ppo_micro_batch_size_per_gpu": [None, 1, 2, 3, 8],
    "log_prob_micro_batch_size": [None, 8], "log_prob_micro_batch_size_per_gpu": [None, 1, 3, 4],
    "ppo_mini_batch_size": [1, 3, 8, 24, 64, 512], "train_batch_size": [1, 7, 8, 64, 96, 100],
    "micro_batch_size_per_gpu": [1, 2, 3, 5, None], "max_token_len_per_gpu": [256, 512, 8192, None],
    "ppo_max_token_len_per_gpu": [64, 512, 16384, None], "log_prob_max_token_len_per_gpu": [64, 16384, None],
    "n": [1, 2, 3, 5], "name": ["vllm", "sglang", "trtllm", "hf", "foo"], "mode": ["async", "sync", "foo"],
    "adv_estimator": ["gae", "grpo", "rloo", "foo"], "trainer_mode": ["sync", "colocate_async", "separate_async"],
    "resume_mode": ["auto", "disable", "resume_path", "foo"], "resume_from_path": [None, "/x/global_step_10", "/x/y"],
    "save_freq": [10, 0, -1], "test_freq": [10, 0, -1], "n_gpus_per_node": [1, 2, 3, 8, None], "nnodes": [1, 2, None, 0],
    "loss_agg_mode": ["token-mean", "seq-mean-token-sum", "mean"], "type": ["fixed", "adaptive", "foo"],
    "backend": ["naive", "nccl", "delta_sharded", "foo"], "main_grads_dtype": ["bf16", "fp16", "fp32"],
    "data_parallel_size": [1, 2, 4], "tool": ["nsys", "torch", "torch_memory", "npu", None],
    "steps": ["[1,2]", None], "clip_grad": [None, 0.5], "betas": ["[0.9,0.95]", None], "enable": [True, False],
    "max_seqlen_per_dp_cp_rank": [1024, 0, None], "pad_mode": ["no_padding", "right", "left_right"],
    "model_dtype": ["fp32", "bf16", "fp8"], "distributed_strategy": ["fsdp2", "megatron_fsdp", "ddp", "foo"],
}
ABSENT = {  # keys that the tree has not and that users add
    "megatron": ["override_transformer_config.gradient_accumulation_fusion=True",
                 "override_transformer_config.fp8=hybrid", "override_ddp_config.use_distributed_optimizer=False",
                 "override_ddp_config.data_parallel_sharding_strategy=optim",
                 "override_ddp_config.grad_reduce_in_fp32=False", "override_ddp_config.foo=1",
                 "override_transformer_config.calculate_per_token_loss=True", "foo=1"],
    "optim": ["warmup_style=cosine", "grad_clip=0.5", "foo=1",
              "override_optimizer_config.use_precision_aware_optimizer=True"],
}
ENVIRONMENT = [("CUDA_DEVICE_MAX_CONNECTIONS", ["1", "1", "8", "32"], 0.4), ("PYTHONHASHSEED", ["0", "7"], 0.05),
               ("VLLM_BATCH_INVARIANT", ["1"], 0.04), ("VERL_FULL_DETERMINISM", ["1"], 0.03),
               ("VLLM_ALLREDUCE_USE_SYMM_MEM", ["0", "1"], 0.1), ("NCCL_ALGO", ["Ring"], 0.02)]


def spelt(value):
    return {None: "null", True: "True", False: "False"}.get(value, str(value)) if not isinstance(
        value, (int, float)) or isinstance(value, bool) else str(value)


def finetune(profile, rng):
    world = rng.choice([1, 2, 4, 8, 8, 16])
    out = [f"data.train_batch_size={world * rng.choice([4, 8])}",
           f"data.micro_batch_size_per_gpu={rng.choice([1, 2, 4])}", "trainer.logger=[console]"]
    if rng.random() < 0.5:
        out.append("model.path=" + rng.choice(VALUES["path"]))
    if profile == "sft_fsdp2":
        out.append("engine.strategy=fsdp2")
    if profile in ("sft_megatron", "sft_mfsdp"):
        out += ["engine=megatron", "optim=megatron", "engine.tensor_model_parallel_size="
                + str(rng.choice([t for t in (1, 2, 4) if world % t == 0]))]
    if profile == "sft_mfsdp":
        out += ["engine.use_megatron_fsdp=True", "engine.use_mbridge=True", "engine.vanilla_mbridge=False"]
        if rng.random() < 0.8:
            out.append("+engine.override_transformer_config.gradient_accumulation_fusion=False")
    if profile == "sft_other":
        engine = rng.choice(["automodel", "veomni", "torchtitan"])
        out += [f"engine={engine}", f"optim={engine}"]
    return "sft_trainer_engine", out, world


def reinforce(profile, rng):
    per_node, nodes = rng.choice([8, 8, 8, 4]), rng.choice([1, 1, 1, 2])
    world, name, out = per_node * nodes, "ppo_trainer", []
    sharded_model = profile in ("megatron", "mfsdp")
    if sharded_model and rng.random() < 0.4:
        name = "ppo_megatron_trainer"
    elif sharded_model or profile in ("veomni", "torchtitan"):
        out.append("model_engine=" + ("megatron" if sharded_model else profile))
    micro = rng.choice([1, 2])
    mini = world * micro * rng.choice([1, 2])
    out += [f"trainer.n_gpus_per_node={per_node}", f"trainer.nnodes={nodes}",
            f"data.train_batch_size={mini * rng.choice([1, 2, 4])}", f"{ACTOR}.ppo_mini_batch_size={mini}",
            f"{ROLLOUT}.n={rng.choice([1, 1, 2, 4])}", f"{ROLLOUT}.name={rng.choice(['vllm', 'vllm', 'sglang'])}"]
    dynamic = rng.random() < 0.3
    if dynamic:
        out.append(f"{ACTOR}.use_dynamic_bsz=True")
    else:
        out += [f"{ACTOR}.ppo_micro_batch_size_per_gpu={micro}",
                f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu={micro}"]
    critic = rng.random() < 0.35
    out.append("algorithm.adv_estimator=" + ("gae" if critic else rng.choice(["grpo", "grpo", "rloo"])))
    if critic:
        out.append(f"critic.ppo_micro_batch_size_per_gpu={micro}")
    if rng.random() < 0.4:
        out.append(f"{ACTOR}.use_kl_loss=True")
        if not dynamic:
            out.append(f"{REF}.log_prob_micro_batch_size_per_gpu={micro}")
    if rng.random() < 0.5:
        out.append(f"{MODEL}.path={rng.choice(VALUES['path'])}")
    if profile == "fsdp2":
        out += [f"{ACTOR}.strategy=fsdp2", "critic.strategy=fsdp2"]
    sizes = [t for t in (1, 2, 4) if per_node % t == 0]
    if sharded_model:
        tensor = rng.choice(sizes)
        out += [f"{ACTOR}.megatron.tensor_model_parallel_size={tensor}"]
        if critic or rng.random() < 0.3:
            out.append(f"critic.megatron.tensor_model_parallel_size={tensor}")
    out.append(f"{ROLLOUT}.tensor_model_parallel_size={rng.choice(sizes)}")
    if profile == "mfsdp":
        out += [f"{ACTOR}.megatron.use_megatron_fsdp=True", f"{ACTOR}.megatron.vanilla_mbridge=False"]
        if critic and rng.random() < 0.7:
            out.append("critic.megatron.use_megatron_fsdp=True")
        if rng.random() < 0.7:
            out.append(f"++{ACTOR}.megatron.override_transformer_config.gradient_accumulation_fusion=False")
    if rng.random() < 0.3:
        out.append("trainer.save_freq=10")
    return name, out, None


class Cases:
    def __init__(self, aims, leaves):
        """leaves(base, engine words): key -> default of the composed tree"""
        self.aims, self.leaves = aims, leaves

    def make(self, rng):
        profile = rng.choices(list(PROFILES), list(PROFILES.values()))[0]
        base, overrides, world = (finetune if profile.startswith("sft") else reinforce)(profile, rng)
        groups = tuple(o for o in overrides if re.match(r"(model_engine|engine|optim)=", o))
        leaves = self.leaves(base, groups)
        by_name = {}
        for key in leaves:
            by_name.setdefault(key.rpartition(".")[2], []).append(key)
        literals, count = {}, rng.choice([0, 1, 1, 2, 2, 3, 4, 6])
        names = [rng.choice(sorted(VALUES) if rng.random() < 0.6 else sorted(by_name)) for _ in range(count)]
        if count and rng.random() < 0.7:
            aim = rng.choice(self.aims)
            literals, names = aim.literals, [n for n in aim.names if rng.random() < 0.8][:5] + names[:2]
        for name in names[:6]:
            if name not in by_name:
                continue
            key = rng.choice(by_name[name])
            value = spelt(self._value(name, leaves[key], literals.get(name, ()), rng))
            overrides = [o for o in overrides if o.lstrip("+~").partition("=")[0] != key]
            overrides.append(f"{key}={value}")
        if count and rng.random() < 0.12:
            overrides.append(self._added(profile, rng))
        if count and rng.random() < 0.04:
            overrides.append(rng.choice(["{}x=1", "~{}", "+{}=1", "{}.foo=1"]).format(rng.choice(sorted(leaves))))
        case = {"profile": profile, "base": base, "overrides": overrides,
                "env": {name: rng.choice(values) for name, values, often in ENVIRONMENT if rng.random() < often},
                "device_capability": rng.choice([9, 9, 9, 8, 10])}
        return {**case, "world_size": world} if world else case

    @staticmethod
    def _added(profile, rng):
        role = "" if profile.startswith("sft") else rng.choice([ACTOR, ACTOR, "critic"]) + "."
        what = rng.choice(["megatron", "optim"])
        node = role + (what if role or what == "optim" else "engine")
        return rng.choice(["+", "+", "++"]) + f"{node}.{rng.choice(ABSENT[what])}"

    @staticmethod
    def _value(name, current, literals, rng):
        texts = [v for v in literals if isinstance(v, str) and re.fullmatch(r"[\w.-]+", v)]
        if texts and isinstance(current, (str, type(None))) and rng.random() < 0.6:
            return rng.choice(texts)
        if isinstance(current, bool):
            return rng.random() < 0.5
        if name in VALUES:
            return rng.choice(VALUES[name])
        if isinstance(current, int):
            return rng.choice([0, 1, 2, -1, current, current * 2])
        if isinstance(current, float):
            return rng.choice([0.0, 0.5, 1.0, -1.0, current])
        if isinstance(current, str):
            return rng.choice(["foo", "null"])
        return rng.choice([True, 1, "x", None])
