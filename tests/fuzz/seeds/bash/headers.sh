#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node 8
srun -l python -u pretrain_gpt.py
