X=$([ -d /x ] && echo a || echo b)
run $X
