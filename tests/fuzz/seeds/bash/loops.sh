for i in a b; do for j in 1 2; do [ $i$j = a2 ] && continue 2; run $i $j; done; done
