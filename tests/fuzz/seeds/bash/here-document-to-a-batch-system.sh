N=4
sbatch <<EOF
#!/bin/bash
#SBATCH --nodes=$N
CMD="run --n $N"
srun bash -c "\$CMD"
EOF
