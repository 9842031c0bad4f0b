O='--a 1  --b'
run $O "$O" x$O
