while [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; *) exit 1;; esac; done
run ${N:-1}
