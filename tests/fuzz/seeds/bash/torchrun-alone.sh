torchrun --standalone -m verl.trainer.sft_trainer a=b
