A=(--a)
if probe; then A+=(--b); else A+=(--c 1); fi
A+=(--d)
run "${A[@]}"
