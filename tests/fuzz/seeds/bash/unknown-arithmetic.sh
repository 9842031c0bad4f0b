run $((SLURM_NNODES*8))
