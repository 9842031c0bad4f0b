N=V V=7
run ${!N}
