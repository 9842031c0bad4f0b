"""Configurations around which Megatron-Bridge's cases lie, built by the checkout's own recipes.

Model hubs are out of reach, so what a recipe asks of them is answered with a small model."""
import importlib


def make_bases():
    """name -> function that builds the configuration anew"""
    import torch
    from megatron.bridge.models.conversion.auto_bridge import AutoBridge
    from megatron.bridge.models.gpt.model_config import BridgeGPTModelConfig
    from megatron.bridge.models.gpt_provider import GPTModelProvider
    from megatron.bridge.models.mla_provider import MLAModelProvider
    from megatron.bridge.models.transformer_config import TransformerConfig
    from megatron.bridge.recipes import common
    from megatron.bridge.training import config as configs
    from megatron.bridge.training.comm_overlap import CommOverlapConfig

    dense = dict(num_layers=8, hidden_size=512, ffn_hidden_size=2048, num_attention_heads=8,
                 num_query_groups=4, vocab_size=32000, normalization="RMSNorm",
                 activation_func=torch.nn.functional.silu, gated_linear_unit=True,
                 add_bias_linear=False, attention_dropout=0.0, hidden_dropout=0.0,
                 share_embeddings_and_output_weights=False, position_embedding_type="rope")
    moe = dict(dense, num_moe_experts=8, moe_ffn_hidden_size=256, moe_router_topk=2,
               moe_grouped_gemm=True, moe_token_dispatcher_type="alltoall")

    class Hub:
        def __init__(self, name):
            sparse = any(mark in name for mark in ("A3B", "A10B", "A22B", "DeepSeek"))
            self.fields = dict(moe if sparse else dense, num_layers=32 if "70B" in name else 8)

        def to_megatron_provider(self, *args, **kwargs):
            return GPTModelProvider(**self.fields)

        def get_model_config(self, *args, **kwargs):
            outer = {k: v for k, v in self.fields.items() if k in (
                "vocab_size", "share_embeddings_and_output_weights", "position_embedding_type")}
            inner = {k: v for k, v in self.fields.items() if k not in outer}
            return BridgeGPTModelConfig(transformer=TransformerConfig(**inner), **outer)

    AutoBridge.from_hf_pretrained = classmethod(lambda cls, name, *a, **k: Hub(str(name)))

    def placed(config):
        """Paths that do not hang on the working directory."""
        for name in ("save", "load"):
            if getattr(config.checkpoint, name) is not None:
                setattr(config.checkpoint, name, "/ckpt/" + name)
        if config.logger.tensorboard_dir:
            config.logger.tensorboard_dir = "/ckpt/tb"
        return config

    def with_model(config, fields, **more):
        config.model = GPTModelProvider(seq_length=config.dataset.seq_length, **dict(fields, **more))
        config.tokenizer.tokenizer_model = "org/model"
        return placed(config)

    def pretrain(fields=dense, **more):
        return with_model(common._pretrain_common(), fields, **more)

    def ddp(**fields):
        return configs.DistributedDataParallelConfig(**fields)

    def plain_ddp():
        config = pretrain()
        config.ddp.use_distributed_optimizer = config.optimizer.use_distributed_optimizer = False
        config.ddp.overlap_param_gather = config.optimizer.overlap_param_gather = False
        return config

    def distributed_optimizer():
        config = pretrain()
        config.ddp = ddp(use_distributed_optimizer=True, overlap_grad_reduce=True,
                         overlap_param_gather=True)
        return config

    def three_axes():
        config = pretrain(tensor_model_parallel_size=2, pipeline_model_parallel_size=2,
                          virtual_pipeline_model_parallel_size=2, sequence_parallel=True)
        config.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)
        return config

    def megatron_fsdp(fields=dense, **more):
        config = pretrain(fields, **more)
        config.dist.use_megatron_fsdp = config.ddp.use_megatron_fsdp = True
        config.ddp.data_parallel_sharding_strategy = "optim_grads_params"
        config.checkpoint.ckpt_format = "fsdp_dtensor"
        return config

    def megatron_fsdp_own_class():
        config = megatron_fsdp(moe, expert_model_parallel_size=2)
        config.ddp = ddp(use_megatron_fsdp=True, data_parallel_sharding_strategy="optim_grads_params",
                         average_in_collective=True, overlap_grad_reduce=True,
                         overlap_param_gather=True, use_distributed_optimizer=True)
        return config

    def megatron_fsdp_2():
        config = megatron_fsdp()
        config.ddp.megatron_fsdp_version = 2
        config.checkpoint.save = config.checkpoint.load = None
        config.optimizer.clip_grad = 0.0
        return config

    def hybrid_sharding():
        config = megatron_fsdp()
        config.ddp.num_distributed_optimizer_instances = 2
        config.ddp.outer_dp_sharding_strategy = "optim"
        return config

    def torch_fsdp2():
        config = plain_ddp()
        config.dist.use_torch_fsdp2 = True
        return config

    def mixture():
        config = pretrain(moe, expert_model_parallel_size=2)
        config.comm_overlap = CommOverlapConfig(tp_comm_overlap=False)
        return config

    def latent_attention():
        config = common._pretrain_common()
        fields = {k: v for k, v in moe.items() if k != "num_query_groups"}
        config.model = MLAModelProvider(seq_length=config.dataset.seq_length, **fields)
        config.tokenizer.tokenizer_model = "org/model"
        return placed(config)

    def finetune():
        return with_model(common._sft_common(), dense)

    def finetune_fsdp():
        config = finetune()
        config.dist.use_megatron_fsdp = config.ddp.use_megatron_fsdp = True
        config.checkpoint.ckpt_format = "fsdp_dtensor"
        return config

    def adapters():
        config = with_model(common._peft_common(), dense)
        config.checkpoint.pretrained_checkpoint = "/ckpt/pretrained"
        return config

    def images():
        config = with_model(common._sft_common_vlm(), dense)
        config.dataset.hf_processor_path = "org/model"
        return config

    def recipe(module, function):
        return lambda: placed(getattr(importlib.import_module("megatron.bridge." + module), function)())

    return {
        "ddp": plain_ddp, "distopt": distributed_optimizer, "three_axes": three_axes,
        "mfsdp": megatron_fsdp, "mfsdp_own_class": megatron_fsdp_own_class, "mfsdp_2": megatron_fsdp_2,
        "hsdp": hybrid_sharding, "fsdp2": torch_fsdp2, "moe": mixture, "mla": latent_attention,
        "sft": finetune, "sft_fsdp": finetune_fsdp, "peft": adapters, "vlm": images,
        "llama3_8b": recipe("recipes.llama.h100.llama3", "llama32_1b_pretrain_1gpu_h100_bf16_config"),
        "llama3_70b_fsdp": recipe("perf_recipes.llama.gb200.llama3",
                                  "llama3_70b_pretrain_64gpu_gb200_bf16_config"),
        "qwen35_vl_fsdp": recipe("recipes.qwen_vl.h100.qwen35_vl",
                                 "qwen35_vl_35b_a3b_sft_2gpu_h100_bf16_fsdp_config"),
    }
