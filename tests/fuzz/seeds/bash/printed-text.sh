run $(echo a b) "$(printf '%s,' 1 2)" $(seq 1 3) `echo q`
