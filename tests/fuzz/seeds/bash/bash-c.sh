export E=1
L=2
bash -c 'run $E $L $0 "$1"' zero one
