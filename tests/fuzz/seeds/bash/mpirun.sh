mpirun -np 16 -x NCCL_DEBUG=INFO python pretrain_t5.py
