run $HOME/x "$1" $U "$@" ~/y
