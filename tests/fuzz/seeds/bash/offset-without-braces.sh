A=abcdef N=2
run "${A:$N+1}" ${A:1:2} ${A: -2}
