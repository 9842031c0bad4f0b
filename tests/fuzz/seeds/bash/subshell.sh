N=1
(N=2; run $N)
run $N
