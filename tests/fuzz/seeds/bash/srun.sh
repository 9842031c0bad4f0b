srun -N2 --ntasks-per-node=4 python pretrain_gpt.py x
