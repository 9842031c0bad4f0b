set -- a 'b c'
shift
run "$@" $# $1
