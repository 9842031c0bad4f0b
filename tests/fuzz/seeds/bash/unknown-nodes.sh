torchrun --nnodes $NNODES --nproc_per_node 8 pretrain_gpt.py
