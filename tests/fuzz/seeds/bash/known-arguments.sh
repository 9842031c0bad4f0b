f() { while [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; --x) X=1; shift;; *) break;; esac; done; run $N $X "$@"; }
f -n 4 --x a 'b c'
