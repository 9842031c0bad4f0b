srun -N 2 ./inner.sh "$@"
