N=2
if [ $N -gt 1 ] && [[ $N == [2-4] ]]; then run big; else run small; fi
