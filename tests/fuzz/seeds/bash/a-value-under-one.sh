N=4
if probe; then N=8; fi
run $N
