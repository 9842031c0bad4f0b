read -r a b <<< 'x y z'
IFS=, read -ra L <<< '1,2,3'
run $a "$b" ${#L[@]} ${L[1]}
