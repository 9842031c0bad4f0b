srun -N 2 bash -c 'torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py'
