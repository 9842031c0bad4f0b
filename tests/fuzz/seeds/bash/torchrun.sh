torchrun --nproc_per_node=8 --nnodes 2 pretrain_gpt.py --a 1
