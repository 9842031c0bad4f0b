"""verl's own programs, imported once and cut off from the outside: the driver of reinforcement
learning and the trainer of fine-tuning, up to one training step and one save."""
import ast
import contextlib
import copy
import importlib
import os
import pathlib
import shutil
import tempfile
import types

import stand_ins
import verl_batches
from verl_surroundings import megatron_groups, nothing, quiet, state, worker

QUIET = {  # what touches devices, files, servers
    "verl.workers.engine_workers": "initialize_global_process_group_ray set_numa_affinity "
                                   "aggressive_empty_cache FlopsCounter",
    "verl.trainer.ppo.v1.trainer_base": "create_rl_sampler RewardLoopManager MultiTeacherModelManager "
                                        "CheckpointEngineManager SkipManager pprint",
    "verl.trainer.main_ppo": "configure_verl_logging pprint",
    "verl.trainer.ppo.v1.trainer_separate_async": "CheckpointEngineManager update_prometheus_config",
    "verl.trainer.sft_trainer": "aggressive_empty_cache log_gpu_memory_usage "
                                "destroy_global_process_group Tracking",
    "verl.workers.rollout.llm_server": "update_prometheus_config",
    "verl.workers.engine.fsdp.transformer_impl":
        "get_fsdp_wrap_policy apply_fsdp2 fsdp2_load_full_state_dict enable_activation_offloading "
        "get_init_weight_context_manager offload_fsdp_model_to_cpu offload_fsdp_optimizer "
        "load_fsdp_model_to_gpu load_fsdp_optimizer",
}
ABSENT_ENGINES = ("veomni", "torchtitan", "automodel")


class Loader:
    """torch refuses a batch size below one."""

    def __init__(self, dataset=None, batch_size=None, **kwargs):
        if batch_size is None:
            self.count = len(dataset)
            return
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError("batch_size")
        self.count = max(1, len(dataset) // batch_size)

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter([{"input_ids": 0}])

    def load_state_dict(self, *args):
        pass


class WorkerGroup:
    """One worker answers for all of its group."""

    def __init__(self, inner, world, batch):
        self.inner, self.world_size, self.batch = inner, world, batch
        self.workers, self._dispatch_info = list(range(world)), {}

    def __getattr__(self, name):
        method = getattr(self.inner, name)

        def call(*args, **kwargs):
            with worker(self.world_size):
                if args and isinstance(args[0], verl_batches.Described):
                    whole = args[0]
                    return method(self.batch(whole.count // whole.parallel, whole.length,
                                             whole.extra_info))
                return method(*args, **kwargs)
        return call


class Program:
    def __init__(self, torch, megatron_lm, megatron_bridge):
        self.torch, self.stage, self.seen, self.ray_env = torch, "compose", [], {}
        self.groups, self.ddp = megatron_groups(megatron_lm)
        get = importlib.import_module
        get("verl.utils.transferqueue_utils").tqbridge = lambda *a, **k: (lambda method: method)
        self.main, self.sft = get("verl.trainer.main_ppo"), get("verl.trainer.sft_trainer")
        self.workers = get("verl.workers.engine_workers")
        self.base = get("verl.trainer.ppo.v1.trainer_base")
        self.constants = get("verl.trainer.constants_ppo")
        self.fsdp = get("verl.workers.engine.fsdp.transformer_impl")
        self.megatron = get("verl.workers.engine.megatron.transformer_impl")
        self.replica = get("verl.workers.rollout.replica")
        for name in ("verl.trainer.ppo.v1", "verl.workers.rollout.vllm_rollout.vllm_async_server",
                     "verl.workers.rollout.vllm_rollout.vllm_pd_replica",
                     "verl.workers.rollout.sglang_rollout.sglang_pd_replica",
                     "verl.experimental.reward_loop", "verl.trainer.distillation.losses"):
            get(name)
        for name, functions in QUIET.items():
            module = get(name)
            for function in functions.split():
                getattr(module, function)  # a name that upstream renamed is to be noticed
                setattr(module, function, nothing)
        self.batch = verl_batches.install(torch)
        self._hub()
        self._driver()
        self._engines()
        self._saving(megatron_bridge)

    # ---- the outside
    def _hub(self):
        model = importlib.import_module("verl.workers.config.model")
        tokenizer = type("Tokenizer", (), dict(bos_token_id=1, eos_token_id=2, pad_token_id=0,
                                               chat_template="x"))
        model.hf_tokenizer = lambda *a, **k: tokenizer()
        model.hf_processor = model.get_generation_config = model.import_external_libs = lambda *a, **k: None
        model.copy_to_local = lambda path, *a, **k: path
        model.update_model_config = lambda config, override_config_kwargs=None: config.update(
            override_config_kwargs or {})

    def _driver(self):
        import ray
        base, main = self.base, self.main
        ray.init = lambda **k: self.ray_env.update(
            (k.get("runtime_env") or {}).get("env_vars") or {})
        base.create_rl_dataset = self.sft.create_sft_dataset = lambda *a, **k: list(range(4096))
        base.StatefulDataLoader = self.sft.StatefulDataLoader = Loader
        importlib.import_module("verl.utils.distributed").initialize_global_process_group = nothing
        base.create_colocated_worker_cls = lambda class_dict: class_dict
        base.RayClassWithInitArgs = lambda cls, **kwargs: types.SimpleNamespace(cls=cls, kwargs=kwargs)
        program = self

        class Groups:
            def __init__(self, resource_pool=None, ray_cls_with_init=None, **kwargs):
                self.world_size, self.made = resource_pool.world_size, {}
                for name, wanted in ray_cls_with_init.items():
                    with worker(self.world_size):
                        own = {k: copy.deepcopy(v) if hasattr(v, "_metadata") else v
                               for k, v in wanted.kwargs.items()}
                        self.made[name] = WorkerGroup(wanted.cls(**own), self.world_size, program.batch)

            def spawn(self, prefix_set):
                return {name: self.made[name] for name in prefix_set}
        base.RayWorkerGroup = Groups
        engines = importlib.import_module("verl.checkpoint_engine.base").CheckpointEngineRegistry

        def new(cls, backend, *args, **kwargs):
            cls.get(backend)
            return quiet
        engines.new = classmethod(new)
        pools = importlib.import_module("verl.single_controller.ray.base").ResourcePoolManager
        pools._check_resource_available = lambda manager: None
        base.PPOTrainer.fit = lambda trainer, *a, **k: program._fit(trainer)
        base.PPOTrainer._init_dump_executor = lambda trainer: None
        main.TaskRunnerV1.init_agent_loop_manager = lambda runner: None

        async def later(*args, **kwargs):
            pass
        servers = importlib.import_module("verl.workers.rollout.llm_server")
        servers.LLMServerManager._init_global_load_balancer = later
        for name in ("init_hybrid", "init_hybrid_colocated", "init_standalone"):
            setattr(self.replica.RolloutReplica, name, later)
        separate = importlib.import_module("verl.trainer.ppo.v1.trainer_separate_async")
        separate.PPOTrainerSeparateAsync.add_replicas_to_balancer = lambda trainer: None
        separate.DetachActorWorker.save_model_to_cpu = lambda trainer, *a, **k: None
        other = importlib.import_module("verl.workers.rollout.trtllm_rollout.trtllm_rollout")
        other.ServerAdapter.__init__ = lambda adapter, *a, **k: None
        self._note(self.workers.TrainingWorker, lambda obj, config: ("worker", config))
        self._note(self.replica.RolloutReplica, lambda obj, *a, **k: ("rollout", obj.config), after=True)
        self.run_ppo = main.run_ppo
        main.run_ppo = self._run_ppo

    def _note(self, owner, what, after=False):
        own = owner.__init__

        def init(obj, *args, **kwargs):
            if not after:
                self.seen.append(what(obj, *args, **kwargs))
            own(obj, *args, **kwargs)
            if after:
                self.seen.append(what(obj, *args, **kwargs))
        owner.__init__ = init

    def _engines(self):
        self.fsdp.FSDPEngine._build_module = lambda engine: stand_ins.placeholder("module")
        self.fsdp.fsdp_version = lambda module: 2
        performance = importlib.import_module("verl.utils.profiler.performance")
        performance._get_current_mem_info = lambda *a, **k: ("0",) * 4
        self.megatron.register_megatron_training_hooks = nothing
        self.megatron.MegatronEngine._routed_num_tokens = lambda engine, data: quiet
        scheduler = importlib.import_module("verl.utils.dynamic_cp_scheduler")
        scheduler.get_megatron_dynamic_cp_scheduler_cls = lambda: verl_batches.stop
        utilities = importlib.import_module("verl.utils.megatron_utils")
        utilities.wrap_model_chunks_with_layerwise_aware_ddp = lambda model, *a, **k: model
        for module in (self.workers, importlib.import_module("verl.workers.engine.base")):
            if hasattr(module, "maybe_fix_3d_position_ids"):
                module.maybe_fix_3d_position_ids = lambda *a, **k: None
        self.sft.tqdm = lambda items, **k: items

    def _saving(self, bridge):
        """Megatron-Bridge's helpers that verl calls, taken out of the checkout one by one."""
        import megatron.bridge.training.checkpointing as saving
        import megatron.bridge.training.config as config
        import megatron.bridge.training.utils.config_utils as utilities
        config.DistributedDataParallelConfig = self.ddp
        utilities.create_ddp_config = functions(bridge, "utils/config_utils.py", {"create_ddp_config"},
                                                {})["create_ddp_config"]
        keep = lambda *a, **k: (a[1], a[2]) if len(a) > 2 else a[0]  # noqa: E731
        names = {name: keep for name in (
            "handle_fp8_extra_state_case handle_swiglu_in_state_dict handle_gdn_in_state_dict "
            "handle_mla_down_proj_fusion_in_state_dict handle_experts_in_state_dict "
            "preprocess_state_dict_for_uneven_dtensor").split()}
        names.update(HAVE_MEGATRON_FSDP=True, F=stand_ins.placeholder("F"), torch=self.torch,
                     MultiStorageClientFeature=types.SimpleNamespace(is_enabled=lambda: False))
        taken = functions(bridge, "checkpointing.py", {
            "preprocess_fsdp_dtensor_state_dict", "save_fsdp_dtensor_checkpoint",
            "_create_fsdp_dtensor_storage_writer"}, names)
        checks = taken["preprocess_fsdp_dtensor_state_dict"]

        def preprocess(cfg, raw, model):
            try:
                return checks(cfg, raw, model)
            except NameError:  # a helper further on: past the checks
                return raw
        taken["preprocess_fsdp_dtensor_state_dict"] = preprocess
        saving.save_fsdp_dtensor_checkpoint = taken["save_fsdp_dtensor_checkpoint"]
        manager = importlib.import_module("verl.utils.checkpoint.megatron_checkpoint_manager")
        manager.save_dist_checkpointing = lambda *a, **k: None
        answers = {"get_rng_state": {}, "_save_hf_config_and_tokenizer": None,
                   "_save_transformer_config": None, "_build_model_sharded_state_dict": {"model": {}},
                   "_build_optimizer_state_dict": {"optimizer": {}},
                   "_build_sharded_state_dict_metadata": {}, "_write_checkpoint_manifest": None}
        for name, answer in answers.items():
            getattr(manager.MegatronCheckpointManager, name)
            setattr(manager.MegatronCheckpointManager, name,
                    lambda obj, *a, answer=answer, **k: copy.copy(answer))

    # ---- the two programs
    def reset(self, capability):
        self.stage = "validate"
        for kept in (self.seen, self.ray_env):
            kept.clear()
        with contextlib.suppress(Exception):
            self.groups.destroy_model_parallel()
        if state.capability != capability:
            state.capability = capability
            importlib.reload(self.constants)  # it asks for the device when it is imported
            self.main.get_ppo_ray_runtime_env = self.constants.get_ppo_ray_runtime_env

    def reinforce(self, config, engine):
        self.engine = engine
        per_node = config.trainer.n_gpus_per_node
        state.per_node = per_node if isinstance(per_node, int) else 8
        self.main.main(config)

    def _run_ppo(self, config, task_runner_class):
        roles = (config.actor_rollout_ref.actor, config.critic, config.actor_rollout_ref.ref)
        if self.engine in ABSENT_ENGINES or any(r.strategy == "fsdp_turbo" for r in roles):
            return
        new = task_runner_class is self.main.TaskRunnerV1
        self.stage = "engine-init" if new else "driver"
        run = (lambda c: self.main.TaskRunnerV1().run(copy.deepcopy(c))) if new else (lambda c: None)
        handle = types.SimpleNamespace(run=types.SimpleNamespace(remote=run))

        class Runner:
            remote = staticmethod(lambda: handle)
            options = staticmethod(lambda **k: Runner)
        self.run_ppo(config, Runner)

    def _fit(self, trainer):
        self.stage = "train"
        group = trainer.actor_rollout_wg
        with worker(group.world_size):
            verl_batches.train(trainer)
        if trainer.config.trainer.save_freq > 0:
            self.stage = "save"
            with worker(group.world_size):
                self._save([("actor", group.inner.actor)]
                           + ([("critic", trainer.critic_wg.inner)] if trainer.use_critic else []), 1)

    def _save(self, roles, step):
        folder, here = tempfile.mkdtemp(), os.getcwd()
        try:
            os.chdir(folder)
            for role, obj in roles:
                manager = getattr(obj.engine, "checkpoint_mananager", None)  # upstream's spelling
                if manager is not None:
                    with worker(state.world):
                        path = os.path.join(folder, f"global_step_{step}", role)
                        manager.save_checkpoint(path, None, step, None)
        finally:
            os.chdir(here)
            shutil.rmtree(folder, ignore_errors=True)

    def finetune(self, config, world, engine):
        self.stage = "engine-init"
        with worker(world):
            self.sft.auto_set_device(config)
            if engine in ABSENT_ENGINES or config.engine.get("strategy") == "fsdp_turbo":
                trainer = self.sft.SFTTrainer.__new__(self.sft.SFTTrainer)
                trainer.config, self.stage = config, "instantiate"
                trainer._build_config()
                return
            trainer = self.sft.SFTTrainer(config=config)
            self.stage = "train"
            self.sft.tu.get_tensordict = lambda tensor_dict=None, non_tensor_dict=None: self.batch(
                trainer.train_batch_size_per_dp, config.data.max_length, non_tensor_dict)
            trainer._get_batch_seqlens = lambda data=None: []
            client, answer = trainer.training_client, types.SimpleNamespace(extra={"metrics": {"loss": 0.0}})
            step = client.train_batch

            def train_batch(data):
                with contextlib.suppress(verl_batches.Through):
                    step(data)
                return answer
            client.train_batch, client.infer_batch = train_batch, lambda *a, **k: answer
            client.step_profile = client.start_profile = client.stop_profile = lambda: None

            def save_checkpoint(step=0):
                self.stage = "save"
                self._save([("sft", client)], step)
                self.stage = "train"
            trainer.ckpt_handler.save_checkpoint = save_checkpoint
            trainer.fit()


def functions(bridge, path, names, namespace):
    """Functions of one of Megatron-Bridge's files, without its imports."""
    path = bridge + "src/megatron/bridge/training/" + path
    tree = ast.parse(pathlib.Path(path).read_text())
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in names]
    for node in tree.body:
        node.returns = None
        for argument in node.args.args + node.args.kwonlyargs:
            argument.annotation = None
    exec(compile(tree, path, "exec"), namespace)
    return namespace
