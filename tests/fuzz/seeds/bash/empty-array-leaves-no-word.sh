A=()
run "${A[@]}" x
