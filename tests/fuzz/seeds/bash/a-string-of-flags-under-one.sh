O='--a'
if probe; then O="$O --b"; fi
run $O
