source env.sh
run $N
