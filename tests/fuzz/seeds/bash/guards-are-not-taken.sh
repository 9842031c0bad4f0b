[ -z "$M" ] && exit 1
if [ $# -lt 2 ]; then echo usage; exit 1; fi
run $M
