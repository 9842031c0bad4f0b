A=(
 --a 1 # one
 # --b 2
 --c
)
run "${A[@]}"
