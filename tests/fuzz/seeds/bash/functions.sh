n=1
f() { local n=$1; shift; run $n "$@"; g=2; }
f q "r s"
run $n $g
